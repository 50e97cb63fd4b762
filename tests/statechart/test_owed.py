"""What is owed over a tree of machines: remembered where nothing has changed, and the same as found anew."""

from __future__ import annotations

import interlock.statechart as sc

GRANDKID = sc.machine(
    "grandkid",
    context={},
    initial="a",
    states={
        "a": sc.state(invoke=sc.invoke("work", id="w"), after={5: "b"}, on={"GO": "b"}),
        "b": sc.state(on={"GO": "a"}),
    },
    sources={"work": None},
)
KID = sc.machine(
    "kid",
    context={},
    initial="a",
    states={"a": sc.state(invoke=[sc.invoke("grandkid", id="g"), sc.invoke("work", id="w")])},
    sources={"grandkid": GRANDKID, "work": None},
)
ROOT = sc.machine(
    "root",
    context={"n": 0},
    initial="a",
    states={
        "a": sc.state(
            invoke=[sc.invoke("kid", id="one"), sc.invoke("kid", id="two"), sc.invoke("work", id="w")],
            on={"N": lambda c, _: sc.stay(n=c["n"] + 1)},
        )
    },
    sources={"kid": KID, "work": None},
)


def test_it_is_the_same_from_step_to_step_as_after_loading():
    snapshot, _ = sc.initial_transition(ROOT, at=0.0)
    kid = snapshot.children["one"]
    assert kid.snapshot is not None
    one = (kid.key, kid.snapshot.children["g"].key)
    for step in (None, sc.Input(address=one, event={"type": "GO"}), "N", sc.Input(address=one, event={"type": "GO"})):
        if step is not None:
            snapshot, _ = sc.transition(ROOT, snapshot, step, at=1.0)
        found, anew = sc.owed(snapshot), sc.owed(ROOT.load(snapshot.to_json()))
        assert [item.identity for item in found.invocations] == [item.identity for item in anew.invocations]
        assert found == anew
        for item in (*found.invocations, *found.timers):
            assert item.identity == "/".join((*item.address, item.key))
