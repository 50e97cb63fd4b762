"""A neutral machine description becomes a machine of the public API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import interlock.statechart as sc
from tests.conformance.vocabulary import NOWHERE, Scope, UnknownWordError, holds, literal, perform, value

Description = Mapping[str, Any]
Form = Literal["handlers", "static"]

# Roots carry more than other nodes do; everything else in a node must be one of these words.
_ROOT_WORDS = frozenset(("context", "delays", "trace", "input"))
_NODE_WORDS = frozenset(
    [
        "id",
        "type",
        "initial",
        "states",
        "tags",
        "entry",
        "exit",
        "on",
        "always",
        "after",
        "timeout",
        "onTimeout",
        "onDone",
        "onError",
        "invoke",
        "output",
        "history",
        "target",
        "choice",
        "meta",
    ]
)
_TRANSITION_WORDS = frozenset(["target", "guard", "do", "reenter", "input"])
_INVOKE_WORDS = frozenset(["src", "id", "input", "onDone", "onError", "timeout", "onTimeout"])


def build(description: Description, form: Form = "handlers") -> Any:
    """Compile a description with the public API; raises what the API raises when it refuses it.

    Guards and operations become handlers, as an author would write most of them. The form "static" says the same
    with as little code as possible: guards stay guards of static transitions, literal operations become data.
    """
    return _Builder(description, form).machine()


def _check_words(given: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise UnknownWordError(f"{place}: unknown word(s) {', '.join(unknown)}")


class _Builder:
    def __init__(self, description: Description, form: Form) -> None:
        self._description = description
        self._static = form == "static"
        self._id = description.get("id", "m")
        self._trace = bool(description.get("trace"))

    def machine(self) -> Any:
        root = self._description
        _check_words(root, _NODE_WORDS | _ROOT_WORDS, "root")
        kind = root.get("type")
        if kind not in (None, "atomic", "compound", "parallel"):
            raise UnknownWordError(f"root: unknown type {kind!r}")
        options = self._node_options(root, (), self._id)
        if kind == "parallel":
            options["kind"] = "parallel"
        return sc.machine(
            self._id,
            context=self._context(),
            delays={name: self._delay(given) for name, given in root.get("delays", {}).items()},
            # Children are inert: the steps alone report their completion, so any stand-in will do.
            sources=dict.fromkeys(sorted(set(_sources(root)))),
            **options,
        )

    def _context(self) -> Any:
        given = self._description.get("context", {})
        if not self._description.get("input"):
            return dict(given)

        def from_input(supplied: Any) -> dict[str, Any]:
            scope = Scope({}, _OnlyInput(supplied))
            return {key: value(part, scope) for key, part in given.items()}

        return from_input

    def _delay(self, given: Any) -> Any:
        return self._expression(given) if isinstance(given, Mapping) else given

    # ------------------------------------------------------------------ nodes

    def _node(self, node: Description, path: tuple[str, ...]) -> Any:
        _check_words(node, _NODE_WORDS, ".".join(path))
        kind = node.get("type")
        own_id = {"id": node["id"]} if "id" in node else {}
        if kind == "history" or (kind is None and "history" in node):
            return sc.history(deep=node.get("history") == "deep", target=node.get("target"), **own_id)
        if kind == "choice":
            return self._choice(node, own_id)
        options = self._node_options(node, path, node.get("id", ".".join((self._id, *path))))
        if kind == "final":
            return sc.final(**options, **own_id)
        if kind == "parallel":
            return sc.parallel(**options, **own_id)
        if kind not in (None, "atomic", "compound"):
            raise UnknownWordError(f"{'.'.join(path)}: unknown type {kind!r}")
        return sc.state(**options, **own_id)

    def _node_options(self, node: Description, path: tuple[str, ...], node_id: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if "initial" in node:
            options["initial"] = self._initial(node["initial"])
        if "states" in node:
            options["states"] = {key: self._node(child, (*path, key)) for key, child in node["states"].items()}
        for word in ("tags", "meta", "timeout"):
            if word in node:
                options[word] = node[word]
        entry = [*self._marks("+", node_id), *node.get("entry", ())]
        leave = [*self._marks("-", node_id), *node.get("exit", ())]
        if entry:
            options["entry"] = self._function(entry)
        if leave:
            options["exit"] = self._function(leave)
        if "on" in node:
            options["on"] = {_descriptor(key): self._candidates(given, natural=2) for key, given in node["on"].items()}
        if "after" in node:
            options["after"] = {item["delay"]: self._candidates(item["to"], natural=1) for item in node["after"]}
        for word, name, natural in (
            ("always", "always", 1),
            ("onTimeout", "on_timeout", 1),
            ("onDone", "on_done", 2),
            ("onError", "on_error", 2),
        ):
            if word in node:
                options[name] = self._candidates(node[word], natural=natural)
        if "invoke" in node:
            options["invoke"] = [self._invoke(given) for given in node["invoke"]]
        if "output" in node:
            options["output"] = self._expression(node["output"])
        return options

    def _marks(self, sign: str, node_id: str) -> list[dict[str, str]]:
        return [{"op": "mark", "name": sign + node_id}] if self._trace else []

    def _initial(self, given: Any) -> Any:
        if isinstance(given, str):
            return given
        _check_words(given, frozenset(("target", "input")), "initial")
        # The input of an initial transition was observed as plain data, never as an expression.
        return (given["target"], given["input"]) if "input" in given else given["target"]

    def _choice(self, node: Description, own_id: Mapping[str, Any]) -> Any:
        branches = node["choice"]

        def choose(context: Mapping[str, Any], at: Any) -> sc.Move:
            scope = Scope(context, at)
            for branch in branches:
                if "guard" in branch and not holds(branch["guard"], scope):
                    continue
                return perform(branch.get("do", ()), scope, sc.goto(branch["target"]))
            raise AssertionError("the last branch of a choice has no guard")

        return sc.choice(sc.with_at(choose), to=[branch["target"] for branch in branches], **own_id)

    def _invoke(self, given: Description) -> Any:
        _check_words(given, _INVOKE_WORDS, "invoke")
        options: dict[str, Any] = {}
        if "id" in given:
            options["id"] = given["id"]
        if "input" in given:
            options["input"] = self._expression(given["input"])
        if "timeout" in given:
            options["timeout"] = given["timeout"]
        for word, name, natural in (
            ("onDone", "on_done", 2),
            ("onError", "on_error", 2),
            ("onTimeout", "on_timeout", 1),
        ):
            if word in given:
                options[name] = self._candidates(given[word], natural=natural)
        return sc.invoke(given["src"], **options)

    # ------------------------------------------------------------ transitions

    def _candidates(self, given: Sequence[Description], *, natural: int) -> list[Any]:
        candidates = []
        for transition in given:
            candidates.append(self._transition(transition, natural))
            if "guard" not in transition:
                # Whatever follows can never be tried, and the engine refuses to build it: it is left out.
                break
        return candidates

    def _transition(self, given: Description, natural: int) -> Any:
        _check_words(given, _TRANSITION_WORDS, "transition")
        target = given.get("target")
        reenter = bool(given.get("reenter"))
        if not given.get("do") and "guard" not in given and "input" not in given:
            # Static, and when it has no target either *bare*: taken, but not counted by `can`.
            return sc.to(target, reenter=reenter)
        if self._static and literal(given.get("do", ())) and not isinstance(given.get("input"), Mapping):
            return self._static_transition(given, natural)

        def decide(scope: Scope) -> sc.Move | None:
            if "guard" in given and not holds(given["guard"], scope):
                return None
            move = sc.stay() if target is None else sc.goto(target)
            if reenter:
                move = move.reenter()
            given_input = value(given.get("input"), scope)
            if given_input is not None:
                # Observed: an input of null is no input, and the one that the state had before stays.
                move = move.with_input(given_input)
            return perform(given.get("do", ()), scope, move)

        return _wide(decide, natural)

    def _static_transition(self, given: Description, natural: int) -> Any:
        move = perform(given.get("do", ()), NOWHERE, sc.stay())
        guard = given.get("guard")
        return sc.to(
            given.get("target"),
            guard=None if guard is None else _wide(lambda scope: holds(guard, scope), natural),
            set=move.patch,
            do=move.operations,
            reenter=bool(given.get("reenter")),
            input=sc.UNSET if given.get("input") is None else given["input"],
        )

    def _function(self, operations: Sequence[Description]) -> Any:
        if self._static and literal(operations):
            return perform(operations, NOWHERE, sc.stay())
        return _wide(lambda scope: perform(operations, scope, sc.stay()), 1)

    def _expression(self, given: Any) -> Any:
        if self._static and not isinstance(given, Mapping):
            return given
        return _wide(lambda scope: value(given, scope), 1)


def _descriptor(name: str) -> str:
    """The original's own events are called ``xstate.error.communication`` and so on, ours ``@error.communication``."""
    return "@" + name.removeprefix("xstate.") if name.startswith("xstate.") else name


class _OnlyInput:
    """What a context factory may look at."""

    event: Any = None

    def __init__(self, supplied: Any) -> None:
        self.input = supplied if supplied is not None else {}


def _wide(function: Callable[[Scope], Any], natural: int) -> Any:
    """The wide form of a handler with one (context) or two (context, what happened) natural arguments."""
    if natural == 1:
        return sc.with_at(lambda context, at: function(Scope(context, at)))
    return sc.with_at(lambda context, _what, at: function(Scope(context, at)))


def _sources(node: Description) -> Iterator[str]:
    """Every source that a node or its descendants invoke or spawn."""
    for given in node.get("invoke", ()):
        yield given["src"]
    for operation in _operations(node):
        if operation["op"] == "spawn":
            yield operation["src"]
    for child in node.get("states", {}).values():
        yield from _sources(child)


def _operations(node: Description) -> Iterator[Description]:
    yield from node.get("entry", ())
    yield from node.get("exit", ())
    for transition in _transitions(node):
        yield from transition.get("do", ())


def _transitions(node: Description) -> Iterator[Description]:
    for given in node.get("on", {}).values():
        yield from given
    for item in node.get("after", ()):
        yield from item["to"]
    for holder in (node, *node.get("invoke", ())):
        for word in ("always", "onDone", "onError", "onTimeout"):
            yield from holder.get(word, ())
