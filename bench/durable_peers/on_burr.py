"""Durable steps on Burr: an action that follows itself, and a persister that saves after each step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

from burr.core import Application, ApplicationBuilder, State, action
from burr.core.persistence import InMemoryPersister, SQLitePersister
from durable_steps import Load, Pace, Subject, entry, main
from measure import expect

FILE = "burr.sqlite"
APP = "thread"


@action(reads=["entries"], writes=["entries"])
def idle(state: State) -> State:
    """Nothing."""
    return state


@action(reads=["entries"], writes=["entries"])
def append(state: State) -> State:
    """One entry more."""
    return state.append(entries=entry(len(state["entries"])))


def builder(persister: Any, *, grows: bool) -> ApplicationBuilder[Any]:
    """The application without its first state."""
    return (
        ApplicationBuilder()
        .with_actions(step=append if grows else idle)
        .with_transitions(("step", "step"))
        .with_identifiers(app_id=APP)
        .with_state_persister(persister)
    )


def take_steps(load: Load, pace: Pace, persister: Any) -> None:
    """The run."""
    unborn = builder(persister, grows=load.grows).with_state(entries=load.first()).with_entrypoint("step")
    application: Application[Any] = unborn.build()
    with pace.measured():
        application.step()
        while pace.goes_on():
            application.step()
    last = persister.load(None, APP)
    expect(last["sequence_id"], pace.taken - 1)
    expect(len(last["state"]["entries"]), load.entries + pace.taken * load.grows)


def in_memory(load: Load, pace: Pace, _folder: Path) -> None:
    """States in memory."""
    take_steps(load, pace, InMemoryPersister())


def in_sqlite(load: Load, pace: Pace, folder: Path) -> None:
    """States in SQLite."""
    persister = SQLitePersister(str(folder / FILE))
    with closing(persister.connection):
        persister.initialize()
        take_steps(load, pace, persister)
        rows = persister.connection.execute("SELECT count(*) FROM burr_state").fetchone()[0]
        expect(rows, pace.taken)


def from_sqlite(folder: Path) -> Callable[[], int]:
    """A new persister, and the application at its next action."""
    persister = SQLitePersister(str(folder / FILE))
    persister.initialize()
    resumable = builder(persister, grows=True).initialize_from(
        persister, resume_at_next_action=True, default_state={}, default_entrypoint="step"
    )
    application: Application[Any] = resumable.build()

    def go_on() -> int:
        with closing(persister.connection):
            application.step()
        return len(application.state["entries"])

    return go_on


SUBJECT = Subject(
    in_memory,
    in_sqlite,
    from_sqlite,
    about={
        "loop": "the step is an action that returns its state (or appends to it), with a transition to itself; each is "
        "one call of `Application.step`",
        "memory_us": "InMemoryPersister keeps a reference to each state and copies nothing",
        "sqlite_us": "SQLitePersister's own settings (a rollback journal, synchronous=FULL); each state is one row of "
        "JSON, committed before the step ends; CPU time, so waiting for the disk is not in it",
        "sqlite_default_us": "there is one way to save, so this is sqlite_us",
        "resume_ms": "SQLitePersister, `initialize` and an application built with `initialize_from`",
    },
)

if __name__ == "__main__":
    main("apache-burr", metadata.version("apache-burr"), SUBJECT)
