"""The flesh of a generated machine: transitions, guards, operations, timers, children, output."""

from __future__ import annotations

from typing import Any

from tests.conformance.generate_chart import Chart, Node, targets
from tests.conformance.randomness import Randomness

Json = dict[str, Any]

_DELAYS = (10, 20, 50)
_KEYS = ("n", "k")
_SPAWNED = ("s0", "s1")
_SENT_LATE = ("d0", "d1")


class Parts:
    """Fills the nodes of one chart; afterwards it knows which timers and children the machine can have."""

    def __init__(self, random: Randomness, chart: Chart) -> None:
        self._random = random
        self._chart = chart
        self._marks = 0
        self._named_delays: Json = {}
        self.timers: list[str] = []
        self.children: list[str] = []
        # Each feature is left out of some machines altogether, so that the others meet more often.
        self._uses = {
            word: random.chance(share)
            for word, share in {
                "invoke": 0.4,
                "spawn": 0.25,
                "after": 0.4,
                "timeout": 0.2,
                "late": 0.3,
                "always": 0.35,
                "raise": 0.4,
                "input": 0.15,
                "wildcard": 0.35,
                "output": 0.5,
                "tags": 0.3,
                "reenter": 0.5,
                "effects": 0.6,
            }.items()
        }

    def machine(self) -> Json:
        """The whole description."""
        machine: Json = {"id": "m", "trace": True, "context": {"n": self._random.between(0, 2), "k": 0}}
        machine.update(self._node(self._chart.root))
        if self._named_delays:
            machine["delays"] = self._named_delays
        self.timers = sorted(set(self.timers))
        self.children = sorted(set(self.children))
        return machine

    def _uses_now(self, word: str, share: float) -> bool:
        return self._uses[word] and self._random.chance(share)

    # ------------------------------------------------------------------ nodes

    def _node(self, node: Node) -> Json:
        made: Json = {}
        if node.own_id is not None:
            made["id"] = node.own_id
        if node.kind in ("parallel", "final", "choice"):
            made["type"] = node.kind
        if node.kind == "history":
            return made | self._history(node)
        if node.kind == "choice":
            return made | {"choice": self._choice(node)}
        if node.children:
            made["states"] = {child.key: self._node(child) for child in node.children}
        if node.kind == "compound":
            made["initial"] = self._initial(node)
        if self._uses_now("tags", 0.3):
            made["tags"] = [self._random.one(("t1", "t2", "t3"))]
        for slot in ("entry", "exit"):
            if self._random.chance(0.22):
                made[slot] = self._operations(slot=slot)
        if node.kind == "final":
            if self._uses["output"]:
                made["output"] = self._random.one(({"ctx": "n"}, 7, {"obj": {"k": {"ctx": "k"}}}, {"in": "i"}))
            return made
        self._add_transitions(node, made)
        self._add_timers(node, made)
        if self._uses_now("invoke", 0.3):
            made["invoke"] = [self._invoke(node, index) for index in range(self._random.weighted({1: 5, 2: 1}))]
        if node.parent is None and self._uses_now("output", 0.4):
            made["output"] = self._random.one(({"ev": "output"}, {"ctx": "n"}))
        return made

    def _initial(self, node: Node) -> Any:
        possible = [child for child in node.children if child.kind not in ("final", "history", "choice")]
        rare = [child for child in node.children if child.kind in ("history", "choice", "final")]
        if node.parent is None:
            # The original enters nothing, not even the root, when the root's initial state is a history state.
            rare = [child for child in rare if child.kind != "history"]
        child = self._random.one(rare) if rare and self._random.chance(0.06) else self._random.one(possible)
        if child.kind not in ("history", "choice") and self._uses_now("input", 0.3):
            return {"target": child.key, "input": self._random.between(1, 5)}
        return child.key

    def _history(self, node: Node) -> Json:
        parent = node.parent
        assert parent is not None
        siblings = [child for child in parent.children if child.kind in ("compound", "parallel", "atomic")]
        target: Any
        if parent.kind == "parallel":
            target = (
                [self._inside(region) for region in siblings]
                if self._random.chance(0.6)
                else self._inside(self._random.one(siblings))
            )
        else:
            target = self._inside(self._random.one(siblings))
        return {"history": self._random.one(("shallow", "deep")), "target": target}

    def _inside(self, sibling: Node) -> str:
        found = self._random.one([node for node in sibling.below() if node.kind in ("compound", "parallel", "atomic")])
        assert sibling.parent is not None
        return ".".join(found.path[len(sibling.parent.path) :]) if found.own_id is None else sibling.key

    def _choice(self, node: Node) -> list[Json]:
        parent = node.parent
        assert parent is not None
        siblings = [child.key for child in parent.children if child.kind not in ("choice", "history")]
        branches: list[Json] = []
        for last in (False, True):
            branch: Json = {"target": self._random.one(siblings)}
            if not last:
                branch["guard"] = self._guard()
            if self._random.chance(0.3):
                branch["do"] = [{"op": "inc", "key": self._random.one(_KEYS), "by": 1}]
            branches.append(branch)
        return branches

    # ------------------------------------------------------------ transitions

    def _add_transitions(self, node: Node, made: Json) -> None:
        share = 0.9 if node.kind == "atomic" else 0.55
        if self._random.chance(share):
            types = self._random.some(self._chart.alphabet, self._random.between(1, 3))
            made["on"] = {event: self._candidates(node) for event in types}
        if self._uses_now("wildcard", 0.25):
            made.setdefault("on", {})[self._random.one(("*", "go.*", "go.fast.*", "stop.*"))] = self._candidates(node)
        if self._uses_now("raise", 0.3):
            made.setdefault("on", {})[self._random.one(("R1", "R2"))] = self._candidates(node)
        if self._uses_now("always", 0.25):
            made["always"] = [self._eventless(node)]
        if node.kind in ("compound", "parallel") and self._random.chance(0.35):
            made["onDone"] = self._candidates(node)
        if self._uses_now("invoke", 0.12):
            made["onError"] = self._candidates(node)

    def _eventless(self, node: Node) -> Json:
        made = self._transition(node, guarded=True)
        if self._random.chance(0.85):
            # Bounded by what it counts itself; the others may go round for ever, which is a case too.
            made["guard"] = {"op": "and", "of": [made["guard"], {"op": "lt", "key": "k", "value": 3}]}
            made["do"] = [*made.get("do", ()), {"op": "inc", "key": "k", "by": 1}]
        return made

    def _candidates(self, node: Node) -> list[Json]:
        if self._random.chance(0.25):
            return [self._transition(node, guarded=True), self._transition(node, guarded=self._random.chance(0.3))]
        return [self._transition(node, guarded=self._random.chance(0.25))]

    def _transition(self, node: Node, *, guarded: bool) -> Json:
        made: Json = {}
        if guarded:
            made["guard"] = self._guard()
        if self._random.chance(0.85):
            made["target"] = targets(self._random, node, self._chart)
        if self._random.chance(0.55):
            made["do"] = self._operations(slot="transition")
        if self._uses_now("reenter", 0.25):
            made["reenter"] = True
        if "target" in made and self._uses_now("input", 0.35):
            made["input"] = {"obj": {"i": self._random.one(({"ctx": "n"}, {"ev": "v"}, 3))}}
        return made

    def _guard(self, depth: int = 0) -> Json:
        draw = self._random.between(0, 9)
        if depth < 2 and draw == 0:
            return {"op": "not", "of": self._guard(depth + 1)}
        if depth < 2 and draw == 1:
            return {"op": self._random.one(("and", "or")), "of": [self._guard(depth + 1), self._guard(depth + 1)]}
        if draw in (2, 3):
            inner = [node for node in self._chart.nodes[1:] if node.kind not in ("history", "choice")]
            return {"op": "in", "path": ".".join(self._random.one(inner).path)}
        if draw == 4:
            return {"op": "ev", "key": "v", "value": self._random.one((None, 1, 2))}
        word = self._random.one(("lt", "le", "gt", "ge", "eq", "ne"))
        return {"op": word, "key": self._random.one(_KEYS), "value": self._random.between(0, 3)}

    # -------------------------------------------------------------- operations

    def _operations(self, *, slot: str) -> list[Json]:
        made: list[Json] = []
        for _ in range(self._random.weighted({1: 5, 2: 3, 3: 1})):
            operation = self._operation(slot)
            if operation["op"] == "spawn" and self._random.chance(0.85):
                # An id in use is an error; stopping an unknown child is none.
                made.append({"op": "stop", "id": operation["id"]})
            made.append(operation)
        return made

    def _operation(self, slot: str) -> Json:
        if self._uses_now("raise", 0.1 if slot == "transition" else 0.2):
            event = (
                self._random.one(self._chart.alphabet) if self._random.chance(0.15) else self._random.one(("R1", "R2"))
            )
            return {"op": "raise", "event": event}
        if self._uses_now("late", 0.25):
            return self._late()
        if self._uses_now("spawn", 0.3):
            return self._child_operation()
        draw = self._random.between(0, 9)
        if self._uses["effects"] and draw == 0:
            return {"op": "emit", "event": {"type": "out", "n": {"ctx": "n"}}}
        if self._uses["input"] and draw in (1, 2):
            return {"op": "set", "key": "k", "value": {"add": [{"in": "i"}, 0]}}
        if draw in (3, 4):
            expression: Any = self._random.one(({"ctx": "n"}, {"add": [{"ctx": "k"}, 1]}, 2, {"add": [{"ev": "v"}, 0]}))
            return {"op": "set", "key": self._random.one(_KEYS), "value": expression}
        if draw < 8:
            return {"op": "inc", "key": self._random.one(_KEYS), "by": self._random.one((1, 1, 2, -1))}
        self._marks += 1
        return {"op": "mark", "name": f"{slot[0]}{self._marks}"}

    def _late(self) -> Json:
        if self._random.chance(0.3):
            return {"op": "cancel", "id": self._random.one(_SENT_LATE)}
        event = self._random.one(("R1", self._random.one(self._chart.alphabet)))
        operation: Json = {
            "op": "raise",
            "event": event,
            "delay": self._random.one((0, 5, 15, {"add": [{"ctx": "n"}, 100]})),
        }
        if self._random.chance(0.7):
            operation["id"] = self._random.one(_SENT_LATE)
            self.timers.append("id:" + operation["id"])
        else:
            self.timers.extend(("auto:0", "auto:1"))
        return operation

    def _child_operation(self) -> Json:
        child = self._random.one(_SPAWNED)
        draw = self._random.between(0, 9)
        known = [*_SPAWNED, *self.children]
        if draw < 5:
            self.children.append(child)
            made: Json = {"op": "spawn", "src": self._random.one(("svc", "job")), "id": child}
            if self._random.chance(0.4):
                made["input"] = self._random.one(({"ctx": "n"}, 4))
            return made
        if draw < 8:
            return {"op": "stop", "id": self._random.one(known)}
        made = {"op": "send", "to": self._random.one(known), "event": {"type": "hello", "n": {"ctx": "n"}}}
        if self._random.chance(0.3):
            made["delay"] = 25
            made["timer"] = self._random.one(_SENT_LATE)
            self.timers.append("id:" + made["timer"])
        return made

    # ------------------------------------------------------- timers and children

    def _add_timers(self, node: Node, made: Json) -> None:
        if self._uses_now("after", 0.3):
            delays: list[Any] = sorted(self._random.some(_DELAYS, self._random.weighted({1: 4, 2: 2})))
            if self._random.chance(0.2):
                delays.append("soon")
                self._named_delays.setdefault("soon", self._random.one((30, {"add": [{"ctx": "n"}, 130]})))
            made["after"] = [{"delay": delay, "to": self._candidates(node)} for delay in delays]
            self.timers.extend(f"after:{delay}:{node.id}" for delay in delays)
        if self._uses_now("timeout", 0.25):
            made["timeout"] = self._random.one((40, 60))
            made["onTimeout"] = self._candidates(node)
            self.timers.append(f"timeout:{node.id}")

    def _invoke(self, node: Node, index: int) -> Json:
        made: Json = {"src": self._random.one(("svc", "job"))}
        child = f"{index}.{node.id}"
        if self._random.chance(0.6):
            child = made["id"] = f"i{len(self.children)}_{'_'.join(node.path)}"
        self.children.append(child)
        if self._random.chance(0.3):
            made["input"] = self._random.one(({"ctx": "n"}, {"ev": "v"}, {"obj": {"k": {"ctx": "k"}}}))
        if self._random.chance(0.6):
            made["onDone"] = self._candidates(node)
            if self._random.chance(0.4):
                made["onDone"][0].setdefault("do", []).append({"op": "set", "key": "k", "value": {"ev": "output"}})
        if self._random.chance(0.4):
            made["onError"] = self._candidates(node)
        if self._random.chance(0.15):
            made["timeout"] = 45
            made["onTimeout"] = self._candidates(node)
            self.timers.append(f"invoke-timeout:{child}")
        return made
