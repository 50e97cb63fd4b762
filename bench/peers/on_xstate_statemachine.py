"""The measured machines on xstate-statemachine: XState-shaped dicts and the synchronous interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from measure import REGIONS, RING, Measure, Run, expect, first_pass, main, retained, ring_positions, steady
from xstate_statemachine import MachineLogic, SyncInterpreter, assign, create_machine
from xstate_statemachine.actor_logic import from_callback

COUNT = assign({"n": lambda a: a["context"]["n"] + 1})
"""The action that counts, in the library's declarative form."""

GUARDS = MachineLogic(
    guards={
        "below": lambda context, _event: context["n"] < 0,
        "fromZero": lambda context, _event: context["n"] >= 0,
        "below1": lambda context, _event: context["n"] < -1,
        "below2": lambda context, _event: context["n"] < -2,
        "yes": lambda _context, _event: True,
    }
)


def ring(size: int, event: str, **more: Any) -> dict[str, Any]:
    """A ring of states."""
    return {
        "initial": "s0",
        "states": {f"s{i}": {"on": {event: {"target": f"s{(i + 1) % size}"} | more}} for i in range(size)},
    }


def ring_machine(size: int) -> Any:
    """A machine that is a ring."""
    return create_machine({"id": "ring"} | ring(size, "T"))


def counting_machine() -> Any:
    """The toggle that counts."""
    return create_machine({"id": "ring", "context": {"n": 0}} | ring(2, "T", actions=[COUNT]))


def nested_machine() -> Any:
    """Four levels that all declare the event."""

    def leaf(other: str) -> dict[str, Any]:
        return {
            "on": {
                "E": [
                    {"target": other, "guard": "below", "actions": [COUNT]},
                    {"target": other, "guard": "fromZero", "actions": [COUNT]},
                ]
            }
        }

    def stay(guard: str) -> dict[str, Any]:
        return {"E": {"guard": guard, "actions": [COUNT]}}

    l2 = {"initial": "x", "states": {"x": leaf("y"), "y": leaf("x")}, "on": stay("below")}
    l1 = {"initial": "l2", "states": {"l2": l2}, "on": stay("below1")}
    return create_machine(
        {
            "id": "nested",
            "initial": "l1",
            "context": {"n": 0},
            "on": stay("below2"),
            "states": {"l1": l1, "other": {}},
        },
        logic=GUARDS,
    )


def regions_machine(regions: int, event: Callable[[int], str], **more: Any) -> Any:
    """Regions of ten states each."""
    return create_machine(
        {
            "id": "regions",
            "type": "parallel",
            "states": {f"r{r}": ring(RING, event(r), **more) for r in range(regions)},
        },
        logic=GUARDS,
    )


def busy_machine() -> Any:
    """Two states with entry, exit, an invocation that stays and a timer of half a minute each."""
    entered = assign({"entered": lambda a: a["context"]["entered"] + 1})
    left = assign({"left": lambda a: a["context"]["left"] + 1})

    def state(other: str) -> dict[str, Any]:
        return {
            "entry": [entered],
            "exit": [left],
            "invoke": {"src": "work"},
            "after": {30_000: other},
            "on": {"T": other},
        }

    return create_machine(
        {
            "id": "busy",
            "initial": "a",
            "context": {"entered": 0, "left": 0},
            "states": {"a": state("b"), "b": state("a")},
        },
        logic=MachineLogic(services={"work": from_callback(work)}),
    )


def work(_send_back: Any, _receive: Any, _context: Any, _event: Any) -> None:
    """The service that stays until its state is left; it does nothing."""


def leaves(interpreter: Any) -> list[str]:
    """The active states without children, by id."""
    return sorted(interpreter.current_state_ids)


def repeat(machine: Any, event: str, stands: Callable[[Any, int], None]) -> Run:
    """The run that sends one event again and again."""
    interpreter = SyncInterpreter(machine).start()
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            interpreter.send(event)
        total += count
        stands(interpreter, total)

    return run


def in_ring(size: int) -> Callable[[Any, int], None]:
    """The ring is where it must be."""

    def stands(interpreter: Any, total: int) -> None:
        expect(leaves(interpreter), [f"ring.s{total % size}"])

    return stands


def toggled_and_counted(interpreter: Any, total: int) -> None:
    """The counting toggle has counted all events."""
    expect((leaves(interpreter), interpreter.context["n"]), ([f"ring.s{total % 2}"], total))


def nested_counted(interpreter: Any, total: int) -> None:
    """The nested machine has counted all events."""
    expect((leaves(interpreter), interpreter.context["n"]), ([f"nested.l1.l2.{'xy'[total % 2]}"], total))


def four_advanced(interpreter: Any, total: int) -> None:
    """All four regions have advanced."""
    expect(leaves(interpreter), [f"regions.r{r}.s{total % RING}" for r in range(4)])


def busy_moved(interpreter: Any, total: int) -> None:
    """The busy machine has entered and left as often as it must, and one timer and one service are pending."""
    expect((interpreter.clock.pending, [i.src for i in interpreter.pending_invocations()]), (1, ["work"]))
    expect(
        (leaves(interpreter), interpreter.context), ([f"busy.{'ab'[total % 2]}"], {"entered": total + 1, "left": total})
    )


def independent(order: Sequence[int]) -> Run:
    """Six regions with an event each, in a random order."""
    interpreter = SyncInterpreter(regions_machine(REGIONS, lambda r: f"NEXT{r}")).start()
    events = [f"NEXT{region}" for region in order]

    def run(_count: int) -> None:
        for event in events:
            interpreter.send(event)
        positions = ring_positions(order)
        expect(leaves(interpreter), [f"regions.r{r}.s{position}" for r, position in enumerate(positions)])

    return run


def building() -> Run:
    """A thousand states and one started interpreter."""

    def run(count: int) -> None:
        for _ in range(count):
            expect(leaves(SyncInterpreter(ring_machine(1000)).start()), ["ring.s0"])

    return run


def initial() -> Run:
    """A new started interpreter of the toggle; the machine is shared."""
    machine = ring_machine(2)

    def run(count: int) -> None:
        for _ in range(count):
            SyncInterpreter(machine).start()

    return run


def instances(make: Callable[[], Any], event: str) -> Callable[[], Callable[[int], list[object]]]:
    """Interpreters of one shared machine after one event each."""

    def start() -> Callable[[int], list[object]]:
        machine = make()

        def keep(count: int) -> list[object]:
            kept: list[object] = []
            for _ in range(count):
                interpreter = SyncInterpreter(machine).start()
                interpreter.send(event)
                kept.append(interpreter)
            return kept

        return keep

    return start


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: repeat(ring_machine(2), "T", in_ring(2))),
    "toggle_ctx_us": steady(lambda: repeat(counting_machine(), "T", toggled_and_counted)),
    "nested_us": steady(lambda: repeat(nested_machine(), "E", nested_counted)),
    "parallel_us": steady(lambda: repeat(regions_machine(4, lambda _: "T"), "T", four_advanced)),
    "parallel_handlers_us": steady(lambda: repeat(regions_machine(4, lambda _: "T", guard="yes"), "T", four_advanced)),
    "independent_us": first_pass(independent),
    "busy_us": steady(lambda: repeat(busy_machine(), "T", busy_moved)),
    "flat1000_us": steady(lambda: repeat(ring_machine(1000), "T", in_ring(1000))),
    "flat1000_build_ms": steady(building),
    "initial_us": steady(initial),
    "snapshot_kb": retained(instances(nested_machine, "E")),
    "busy_snapshot_kb": retained(instances(busy_machine, "T")),
}

if __name__ == "__main__":
    main("xstate-statemachine", PLAN)
