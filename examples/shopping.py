"""A model fills a cart: events of the machine are its tools, beside a plain function that knows the prices.

    python examples/shopping.py "2 tea, 1 cake"
    python examples/shopping.py "2 tea, 3 cake" --budget 10      # the till refuses, and something goes back
    python examples/shopping.py "1 gold bar"                     # what the shop does not have
    python examples/shopping.py "things for tea" --model openai  # OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL

Each event that the model calls is sent at once, and its answer says what has changed or why nothing has. What it may
call is what the machine accepts there and then. ``CheckOut`` leaves the state, and with it everything stops: calls that
come after it are not carried out.
"""

from __future__ import annotations

import argparse
import os
import re
import sys

from pydantic import BaseModel, Field

import interlock as il

PRICES = {"tea": 250, "coffee": 300, "cake": 320, "bread": 280, "jam": 410}
"""In cents."""


class Put(il.Event):
    """Put something into the cart."""

    item: str
    count: int = Field(default=1, gt=0, le=20)


class TakeOut(il.Event):
    """Put one of something back on the shelf."""

    item: str


class CheckOut(il.Event):
    """Go to the till and pay. Ends the shopping."""


class Trip(BaseModel, frozen=True):
    """What somebody is sent to the shop with; the budget is in cents."""

    wish: str = ""
    budget: int = Field(default=2000, ge=0)


class Cart(BaseModel, frozen=True):
    trip: Trip = Trip()
    items: tuple[str, ...] = ()
    said: str = ""

    @property
    def total(self) -> int:
        """What all of it costs, in cents."""
        return sum(PRICES[item] for item in self.items)


class Receipt(BaseModel, frozen=True):
    items: tuple[str, ...] = ()
    total: int = 0
    said: str = ""


def price(item: str) -> str:
    """Look up what something costs."""
    return f"{PRICES[item] / 100:.2f}" if item in PRICES else f"there is no {item}; there is {', '.join(PRICES)}"


agent = il.setup_agent(
    context=Cart, events=[Put, TakeOut, CheckOut], input=Trip, output=Receipt, tools={"price": price}
)


def put(cart: Cart, event: Put) -> il.Move | None:
    """Take what there is from the shelf."""
    return agent.stay(items=(*cart.items, *[event.item] * event.count)) if event.item in PRICES else None


def take_out(cart: Cart, event: TakeOut) -> il.Move | None:
    """Put one back, the last of its kind."""
    if event.item not in cart.items:
        return None
    last = len(cart.items) - 1 - cart.items[::-1].index(event.item)
    return agent.stay(items=cart.items[:last] + cart.items[last + 1 :])


def check_out(cart: Cart, event: CheckOut) -> il.Move | None:
    """Pay, if there is something to pay and enough to pay it with."""
    return agent.goto("sold") if cart.items and cart.total <= cart.trip.budget else None


machine = agent.machine(
    "shopping",
    context=lambda trip: Cart(trip=trip),
    initial="shopping",
    states={
        "shopping": agent.state(
            invoke=agent.act(
                name="shop",
                model="quick",
                system="You do the shopping. Look up prices, fill the cart, stay within the budget, then check out.",
                prompt=lambda cart: f"Budget: {cart.trip.budget / 100:.2f}. Buy: {cart.trip.wish}",
                tools=["price"],
                max_steps=12,
                on_done=lambda cart, text: agent.goto("left", said=text),
                on_error=lambda cart, error: agent.goto("left", said=error.message),
            ),
            on=[agent.on(Put, put), agent.on(TakeOut, take_out), agent.on(CheckOut, check_out)],
        ),
        "sold": agent.final(output=lambda cart: Receipt(items=cart.items, total=cart.total)),
        "left": agent.final(output=lambda cart: Receipt(said=cart.said)),
    },
)


def scripted(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    """Play the model: look prices up, fill the cart, check out; while that is refused, put the last thing back."""
    wished = [(name, int(count)) for count, name in re.findall(r"(\d+) ([a-z ]*[a-z])", str(request.prompt))]
    turn = sum(message.role == "assistant" for message in request.turns)
    calls: list[tuple[str, object]] = []
    if turn == 0:
        calls = [("price", {"item": name}) for name, _ in wished]
    elif turn == 1:
        calls = [("send_event_Put", {"item": name, "count": count}) for name, count in wished]
    elif turn < 5 and wished[-1][0] in PRICES:
        calls = [("send_event_TakeOut", {"item": wished[-1][0]})]
    if calls and turn:
        calls.append(("send_event_CheckOut", {}))
    if not calls:
        return il.TextResult(output="I could not get that.")
    return il.TextResult(tool_calls=tuple(il.ToolCall(f"{turn}.{n}", *call) for n, call in enumerate(calls)))


def executors(model: str) -> il.Executors:
    """Return who does the shopping."""
    if model == "openai":
        from interlock.adapters.openai import openai_executors

        return openai_executors(models={"quick": os.environ.get("OPENAI_MODEL", "gpt-5-mini")})
    return il.Executors(generate_text=scripted)


def show(event: il.TraceEvent) -> None:
    """Show what the model calls, and what it is told."""
    if isinstance(event, il.ToolAnswered):
        print(f"  {event.tool}({event.call.input}): {event.output.value}")


def main() -> None:
    """Read the command line, and go shopping."""
    parser = argparse.ArgumentParser(description="Send a model to the shop.")
    parser.add_argument("wish", help="what to buy, such as '2 tea, 1 cake'")
    parser.add_argument("--budget", type=float, default=20.0, help="what may be spent (default: %(default)s)")
    parser.add_argument("--model", choices=("scripted", "openai"), default="scripted")
    given = parser.parse_args()
    try:
        trip = Trip(wish=given.wish, budget=round(given.budget * 100))
        result = il.run_agent_sync(machine, input=trip, executors=executors(given.model), on_trace=show)
    except il.InterlockError as error:
        sys.exit(str(error))
    match result:
        case il.Done(output=Receipt(items=items, total=total)) if items:
            print(f"Bought {', '.join(items)} for {total / 100:.2f}.")
        case il.Done(output=receipt):
            print(f"Bought nothing: {receipt.said}")
        case _:
            sys.exit(f"the shopping did not end: {result}")


if __name__ == "__main__":
    main()
