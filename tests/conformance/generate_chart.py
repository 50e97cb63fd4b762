"""The bones of a generated machine: its tree of states, and which target names reach what from where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.conformance.randomness import Randomness

Kind = Literal["compound", "parallel", "atomic", "final", "history", "choice"]


@dataclass(slots=True, eq=False)
class Node:
    """A state of the tree."""

    key: str
    kind: Kind
    parent: Node | None
    own_id: str | None = None
    children: list[Node] = field(default_factory=list["Node"])

    @property
    def path(self) -> tuple[str, ...]:
        return () if self.parent is None else (*self.parent.path, self.key)

    @property
    def id(self) -> str:
        return self.own_id or ".".join(("m", *self.path))

    def below(self) -> list[Node]:
        """This node and its descendants in document order."""
        return [self, *(node for child in self.children for node in child.below())]

    def is_below(self, other: Node) -> bool:
        node: Node | None = self
        while node is not None:
            if node is other:
                return True
            node = node.parent
        return False


@dataclass(frozen=True, slots=True)
class Chart:
    """The tree and the event types that the machine knows."""

    root: Node
    alphabet: tuple[str, ...]

    @property
    def nodes(self) -> list[Node]:
        return self.root.below()


_ALPHABETS = (
    ("A", "B", "C"),
    ("A", "B", "C", "D"),
    ("A", "B", "go.fast", "go.fast.now"),
    ("A", "go.fast", "go.slow", "stop.now"),
)
_MOST_NODES = 18
_DEEPEST = 4


def chart(random: Randomness) -> Chart:
    """Draw a tree of states and an alphabet."""
    alphabet = random.one(_ALPHABETS)
    root = Node("m", random.weighted({"compound": 5, "parallel": 3}), None)
    budget = [random.between(5, _MOST_NODES)]
    _grow(random, root, budget)
    return Chart(root, alphabet)


def _grow(random: Randomness, node: Node, budget: list[int]) -> None:
    depth = len(node.path)
    for key in "abcd"[: random.weighted({2: 6, 3: 4, 4: 1}) if depth < _DEEPEST else 2]:
        _add(random, node, key, budget)
    if node.kind == "compound" and random.chance(0.3):
        node.children.append(Node("f", "final", node))
    if node.kind == "compound" and random.chance(0.1):
        node.children.append(Node("q", "choice", node))
    if random.chance(0.3):
        node.children.append(Node("h", "history", node))


def _add(random: Randomness, parent: Node, key: str, budget: list[int]) -> None:
    budget[0] -= 1
    depth = len(parent.path) + 1
    leaf = budget[0] <= 0 or depth >= _DEEPEST
    kind: Kind = "atomic" if leaf else random.weighted({"compound": 4, "parallel": 2.5, "atomic": 5})
    node = Node(key, kind, parent)
    if random.chance(0.04):
        node.own_id = "id_" + "_".join(node.path)
    parent.children.append(node)
    if kind in ("compound", "parallel"):
        _grow(random, node, budget)


def targets(random: Randomness, source: Node, chart: Chart) -> str | list[str]:
    """Something that a transition of ``source`` may name as its target, anywhere in the chart."""
    parallels = [node for node in chart.nodes if node.kind == "parallel"]
    if parallels and random.chance(0.06):
        parallel = random.one(parallels)
        regions = random.some([child for child in parallel.children if child.kind != "history"], 2)
        return ["#" + random.one([node for node in region.below() if node.kind != "history"]).id for region in regions]
    return name(random, source, _one_target(random, source, chart))


def _one_target(random: Randomness, source: Node, chart: Chart) -> Node:
    siblings = [] if source.parent is None else source.parent.children
    within = source.below()[1:]
    regions = [node for node in chart.nodes if node.parent is not None and node.parent.kind == "parallel"]
    histories = [node for node in chart.nodes if node.kind == "history"]
    draw = random.between(0, 99)
    if siblings and draw < 45:
        return random.one(siblings)
    if within and draw < 58:
        return random.one(within)
    if regions and draw < 68:
        return random.one(regions)
    if histories and draw < 76:
        return random.one(histories)
    if source.parent is not None and draw < 80:
        return random.one([node for node in chart.nodes if source.is_below(node)])
    return random.one(chart.nodes)


def name(random: Randomness, source: Node, target: Node) -> str:
    """A way to write ``target`` at ``source``: relative where that is possible, by id otherwise."""
    if target.own_id is None and random.chance(0.8):
        if target is not source and target.is_below(source):
            return "." + ".".join(target.path[len(source.path) :])
        parent = source.parent
        if parent is not None and target is not parent and target.is_below(parent):
            return ".".join(target.path[len(parent.path) :])
    return "#" + target.id
