"""Values that nothing good comes of: each is made anew where it is used, for some change while they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import interlock as il

from .machines import Approve, Attack, Everything, Flee, Pay


class PrickError(Exception):
    """What the values of this module raise, and nobody else."""


def prick(*_: Any, **__: Any) -> Any:
    raise PrickError("pricked")


def _type(base: type[Any], *names: str, **more: Any) -> type[Any]:
    return type(base.__name__.title(), (base,), dict.fromkeys(names, prick) | more)


class Wordless:
    __str__ = __repr__ = prick


class Torn:
    def __repr__(self) -> str:
        return "half \ud800"


class Impostor:
    """Says that it is of a class that it is not."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @property
    def __class__(self) -> Any:
        return self.kind if isinstance(self.kind, type) else prick()


class Closed:
    __getattribute__ = prick


class Thorny(Mapping[str, Any]):
    def __init__(self, *names: str) -> None:
        self.names = names

    def __getitem__(self, key: str) -> Any:
        return prick() if "item" in self.names else {"type": "Flee"}[key]

    def __iter__(self) -> Iterator[str]:
        return prick() if "iter" in self.names else iter(["type"])

    def __len__(self) -> int:
        return prick() if "len" in self.names else 1

    def get(self, key: str, default: Any = None) -> Any:
        return prick() if "get" in self.names else super().get(key, default)

    def keys(self) -> Any:
        return prick() if "keys" in self.names else super().keys()

    def items(self) -> Any:
        return prick() if "items" in self.names else super().items()


class Changing(dict[str, Any]):
    """Tells another story each time it is read."""

    def items(self) -> Any:
        self["n"] = self.get("n", 0) + 1
        return [("type", "Flee" if self["n"] % 2 else "Approve"), ("fresh", [self["n"], [self["n"]]])]

    def __iter__(self) -> Iterator[str]:
        self[f"k{len(self)}"] = []
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        self["n"] = self["n"] + 1 if "n" in self else 0
        return ["Flee", "Approve", "Attack"][self["n"] % 3] if key == "type" else super().get(key, default)


class Growing(Mapping[str, Any]):
    def __init__(self) -> None:
        self.inner: dict[str, Any] = {"type": "Flee"}

    def __getitem__(self, key: str) -> Any:
        self.inner[f"k{len(self.inner)}"] = 1
        return self.inner[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)


class Anything(BaseModel):
    x: Any = None


class Mute(BaseModel):
    x: int = 0

    model_dump = model_dump_json = prick


class ForeignAttack(il.Event, type="Attack"):
    weapon: Any = None
    more: Any = None


class Evil(Attack):
    """A subclass under a name of its own."""

    weapon: Any = None  # type: ignore[assignment]
    more: Any = None


class Refusing:
    def __await__(self) -> Any:
        return prick()


class NoIterator:
    def __await__(self) -> Any:
        return 5


def _cycle_list() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


def _cycle_dict() -> Any:
    found: dict[str, Any] = {"type": "Flee"}
    found["self"] = found
    return found


def _deep(levels: int, kind: Callable[[Any], Any]) -> Any:
    found: Any = 0
    for _ in range(levels):
        found = kind(found)
    return found


def _changed(event: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        object.__setattr__(event, name, value)
    return event


TEXT = ("encode", "decode", "__eq__", "__repr__", "__str__", "__len__", "__bool__", "__getitem__", "startswith")

THORNS: dict[str, Callable[[], Any]] = {
    "wordless": Wordless,
    "torn": Torn,
    "object": object,
    "closed": Closed,
    "impostor": lambda: Impostor(None),
    "impostor of Choice": lambda: Impostor(il.Choice),
    "impostor of TextResult": lambda: Impostor(il.TextResult),
    "impostor of Event": lambda: Impostor(Flee),
    "impostor of Mapping": lambda: Impostor(Thorny),
    "impostor of str": lambda: Impostor(str),
    "impostor of dict": lambda: Impostor(dict),
    "impostor of Usage": lambda: Impostor(il.Usage),
    "impostor of ToolCall": lambda: Impostor(il.ToolCall),
    "bare Choice": lambda: il.Choice.__new__(il.Choice),
    "bare TextResult": lambda: il.TextResult.__new__(il.TextResult),
    "bare ToolCall": lambda: il.ToolCall.__new__(il.ToolCall),
    "bare Usage": lambda: il.Usage.__new__(il.Usage),
    "bare event": lambda: Attack.__new__(Attack),
    "bare str": lambda: _type(str, "__eq__", "__repr__", "__hash__")("Flee"),
    "text": lambda: _type(str, *TEXT, __hash__=None)("Flee"),
    "mild text": lambda: _type(str)("Flee"),
    "encodes to nothing": lambda: _type(str, encode=lambda self, *_, **__: None)("Flee"),
    "number": lambda: _type(int, "__repr__", "__str__", "__eq__", "__add__", "__radd__")(3),
    "mild number": lambda: _type(int)(3),
    "float": lambda: _type(float, "__repr__", "__str__", "__add__", "__radd__")(0.5),
    "dict": lambda: _type(dict, "items", "keys", "__iter__", "__getitem__", "get")(type="Flee"),
    "dict.items": lambda: _type(dict, "items")(type="Flee"),
    "dict.get": lambda: _type(dict, "get")(type="Flee"),
    "dict.keys": lambda: _type(dict, "keys", "__iter__")(type="Flee"),
    "mild dict": lambda: _type(dict)(type="Flee"),
    "dict of odd keys": lambda: {Wordless(): 1, "type": "Flee"},
    "dict of numbers": lambda: {1: 2, "type": "Flee"},
    "dict of texts": lambda: {_type(str)("type"): "Flee"},
    "list": lambda: _type(list, "__iter__", "__len__", "__getitem__", "__bool__", "__repr__")([1]),
    "tuple": lambda: _type(tuple, "__iter__", "__len__", "__getitem__", "__bool__")((1,)),
    "falsy": type("Falsy", (), {"__bool__": prick}),
    "unequal": type("Unequal", (), {"__eq__": prick, "__hash__": prick}),
    "thorny": lambda: Thorny("item", "iter", "len", "get", "keys", "items"),
    "thorny item": lambda: Thorny("item"),
    "thorny iter": lambda: Thorny("iter"),
    "thorny get": lambda: Thorny("get"),
    "thorny keys": lambda: Thorny("keys"),
    "thorny items": lambda: Thorny("items"),
    "thorny len": lambda: Thorny("len"),
    "growing": Growing,
    "changing": Changing,
    "refusing": Refusing,
    "no iterator": NoIterator,
    "cycle list": _cycle_list,
    "cycle dict": _cycle_dict,
    "deep list": lambda: _deep(100_000, lambda inner: [inner]),
    "deep dict": lambda: _deep(20_000, lambda inner: {"a": inner}),
    "deep tuple": lambda: _deep(70, lambda inner: (inner,)),
    "depth 63": lambda: _deep(63, lambda inner: [inner]),
    "million": lambda: "x" * 1_000_000,
    "million bytes of json": lambda: '{"type": "Flee", "x": "' + "y" * 1_000_000 + '"}',
    "many keys": lambda: {f"k{n}": n for n in range(5_000)},
    "many items": lambda: list(range(20_000)),
    "digits": lambda: 10**5_000,
    "digits less": lambda: -(10**4_500),
    "many digits": lambda: 10**400,
    "text of digits": lambda: "9" * 5_000,
    "nan": lambda: float("nan"),
    "inf": lambda: float("-inf"),
    "tiny": lambda: 5e-324,
    "negative zero": lambda: -0.0,
    "surrogate": lambda: "a\ud800b",
    "pair of surrogates": lambda: "\ud83d\ude00",
    "nul": lambda: "a\0b",
    "key with surrogate": lambda: {"a\ud800": 1},
    "key with nul": lambda: {"\0": 1},
    "bytes": lambda: b"\xff\xfe",
    "bytearray": lambda: bytearray(b"Flee"),
    "set": lambda: {"type"},
    "generator": lambda: (n for n in range(3)),
    "function": lambda: prick,
    "class": lambda: Flee,
    "path": lambda: Path("a"),
    "exception": lambda: PrickError("as a value"),
    "complex": lambda: 1j,
    "ellipsis": lambda: ...,
    "model": lambda: Anything(x=1),
    "model of thorns": lambda: Anything(x=Wordless()),
    "mute model": Mute,
    "human event": lambda: Approve(by="the model"),
    "foreign event": lambda: ForeignAttack(weapon="bow", more=1),
    "subclass of event": lambda: Evil(weapon="spoon", more=1),
    "constructed": lambda: Attack.model_construct(weapon="spoon"),
    "constructed human": lambda: Approve.model_construct(by=5),
    "constructed of thorns": lambda: Everything.model_construct(who=Wordless(), free=Thorny("items")),
    "copied": lambda: Pay(amount=1).model_copy(update={"amount": "x"}),
    "changed": lambda: _changed(Attack(weapon="bow"), weapon="spoon"),
    "changed to a thorn": lambda: _changed(Pay(amount=1), amount=Wordless()),
    "renamed": lambda: _changed(Pay(amount=1), __class__=Flee),
    "free of thorns": lambda: Everything(who={"name": "A", "born": "2000-01-01"}, free=Thorny("items")),  # type: ignore[arg-type]
    "choice in a choice": lambda: il.Choice(Flee()),
    "text result": lambda: il.TextResult("Flee"),
    "usage": lambda: il.Usage(input_tokens=1),
}


EVENTS = [
    "bare event",
    "impostor of Event",
    "human event",
    "foreign event",
    "subclass of event",
    "constructed",
    "constructed human",
    "constructed of thorns",
    "copied",
    "changed",
    "changed to a thorn",
    "renamed",
    "free of thorns",
    "mild dict",
    "changing",
    "growing",
]
"""Those that look most like an event."""


# -- exceptions ------------------------------------------------------------------------------------------------------


class MuteError(Exception):
    __str__ = __repr__ = prick


class OddTextError(Exception):
    __str__ = len  # type: ignore[assignment]


class TextKind(str):
    __slots__ = ()
    encode = prick


class OwnTextError(Exception):
    def __str__(self) -> str:
        return TextKind("mine")


class NoNotesError(Exception):
    __notes__ = 5  # type: ignore[assignment]
    add_note = prick


class FixedError(Exception):
    __setattr__ = prick


class CodedError(il.InterlockError):
    code = 5  # type: ignore[assignment]


class SurrogateCodeError(il.InterlockError):
    code = "\ud800"


class LyingError(il.RefusedError):
    def __init__(self) -> None:
        Exception.__init__(self, "half made")


class TriedError(il.TextError):
    @property
    def partial_output(self) -> Any:
        return prick()

    @partial_output.setter
    def partial_output(self, _: Any) -> None: ...


class AnyBaseError(BaseException):
    """Neither an exception nor a wish to leave."""


def _chained(length: int) -> Exception:
    first: Exception = MuteError()
    for number in range(length):
        after = ValueError(number)
        after.__cause__ = first
        first = after
    return first


def _circle() -> Exception:
    one, two = ValueError(1), ValueError(2)
    one.__cause__, two.__cause__ = two, one
    return one


def _validation() -> BaseException:
    try:
        Attack(weapon="spoon")  # type: ignore[arg-type]
    except ValueError as error:
        return error
    raise AssertionError


EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "value": lambda: ValueError("x"),
    "key": lambda: KeyError("x"),
    "assertion": AssertionError,
    "recursion": lambda: RecursionError("deep"),
    "unicode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    "memory": MemoryError,
    "os": lambda: OSError(2, "\ud800"),
    "stop": lambda: StopIteration(il.Choice(Flee())),
    "stop async": StopAsyncIteration,
    "not implemented": NotImplementedError,
    "timeout": TimeoutError,
    "cancelled": asyncio.CancelledError,
    "mute": MuteError,
    "odd text": OddTextError,
    "own text": OwnTextError,
    "no notes": NoNotesError,
    "fixed": FixedError,
    "surrogate": lambda: ValueError("a\ud800"),
    "million": lambda: ValueError("x" * 1_000_000),
    "thorn": lambda: ValueError(Wordless()),
    "chained": lambda: _chained(30),
    "circle": _circle,
    "group": lambda: ExceptionGroup("several", [ValueError("x"), MuteError()]),
    "deep group": lambda: ExceptionGroup("a", [ExceptionGroup("b", [KeyError("x")])]),
    "coded": lambda: CodedError("coded"),
    "surrogate code": lambda: SurrogateCodeError("coded"),
    "lying": LyingError,
    "tried": lambda: TriedError("x", request="r", request_id="i"),
    "refused": lambda: il.RefusedError("no", request="r", request_id="i"),
    "exhausted": lambda: il.DecisionExhaustedError("x", ()),
    "step": lambda: il.StepError("x", machine="m"),
    "journal": lambda: il.JournalError("x"),
    "limit": lambda: il.ModelCallLimitError("x", limit=1),
    "validation": _validation,
    "provider": lambda: il.ProviderError("x", status=500),
}

LEAVING: dict[str, Callable[[], BaseException]] = {
    "base": AnyBaseError,
    "base group": lambda: BaseExceptionGroup("several", [AnyBaseError(), ValueError("x")]),
    "generator exit": GeneratorExit,
    "keyboard": KeyboardInterrupt,
    "exit": lambda: SystemExit(3),
    "group with exit": lambda: BaseExceptionGroup("several", [SystemExit(3), ValueError("x")]),
    "bind": lambda: il.BindError("x"),
}
