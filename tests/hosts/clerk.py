"""A machine that asks two people at once, and a process that begins it on DBOS and dies once it asks.

``python -m tests.hosts.clerk URL``
"""

import os
import sys
import time

from pydantic import BaseModel, Field

import interlock as il
from interlock.hosts.dbos import DBOSHost

WORKFLOW = "order-7"


class Address(BaseModel):
    street: str
    number: int = Field(gt=0)


class Order(BaseModel, frozen=True):
    name: str = ""
    address: str = ""


agent = il.setup_agent(context=Order, events=[], output=Order)


def clerk(*, patience: float = 3_600) -> il.Machine:
    return agent.machine(
        "clerk",
        version="1",
        initial="asking",
        states={
            "asking": agent.parallel(
                states={
                    "name": agent.state(
                        initial="ask",
                        states={
                            "ask": agent.state(
                                invoke=agent.user_input(
                                    "Your name?", name="name", on_done=lambda c, name: agent.goto("told", name=name)
                                )
                            ),
                            "told": agent.end(),
                        },
                    ),
                    "address": agent.state(
                        initial="ask",
                        states={
                            "ask": agent.state(
                                invoke=agent.user_input(
                                    lambda c: f"Where do you live, {c.name or 'friend'}?",
                                    Address,
                                    name="address",
                                    on_done=lambda c, home: agent.goto("told", address=f"{home.street} {home.number}"),
                                ),
                                after=[agent.after(patience, "told")],
                            ),
                            "told": agent.end(),
                        },
                    ),
                },
                on_done="over",
            ),
            "over": agent.final(output=lambda c: c),
        },
    )


def main(url: str) -> None:
    from dbos import DBOS

    host = DBOSHost(clerk())
    DBOS(
        config={
            "name": "tests",
            "system_database_url": url,
            "application_version": "tests-1",
            "notification_listener_polling_interval_sec": 0.01,
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()
    host.start(workflow_id=WORKFLOW)
    host.reply(WORKFLOW, "name", "Ada", event_id="mail-1")
    while len(host.standing(WORKFLOW).pending_inputs) != 1:
        time.sleep(0.01)
    os._exit(9)


if __name__ == "__main__":
    main(*sys.argv[1:])
