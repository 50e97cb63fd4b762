"""Between an author's functions and the engine: each gets its arguments in the form in which its author wrote them.

Whether a function can take what it will be called with is known when it is handed over, and said then.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType

from interlock.agent.reasons import short
from interlock.errors import DefinitionError
from interlock.statechart import Move
from interlock.statechart.definition import is_deferred, name_of
from interlock.statechart.narrowing import Narrowing

__all__ = ["Adapted", "Decode", "check_arguments"]

Decode = Callable[[object], object]
"""From JSON to what a function takes."""


class Adapted:
    """An author's function whose arguments are made fit for it, and whose answer is looked at.

    It shows the author's name and code, so that errors name his function and its targets can be read from it.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        narrow: Narrowing | None = None,
        decode: Decode | None = None,
        check: Callable[[Move], None] | None = None,
        encode: Callable[[object], object] | None = None,
    ) -> None:
        self.__qualname__: str = getattr(function, "__qualname__", type(function).__name__)
        self.__code__: CodeType | None = getattr(function, "__code__", None)
        self.function = function
        self.narrow = narrow
        self.decode = decode
        self.check = check
        self.encode = encode

    def __deepcopy__(self, memo: object) -> Adapted:
        return self  # as functions do: a label stands in the meta of a state, which is copied

    def __call__(self, context: object, *rest: object) -> object:
        """Call the author's function with the context and whatever else it takes, each in its own form."""
        if self.narrow is not None:
            context = self.narrow.view(context)
        if self.decode is not None:
            rest = (self.decode(rest[0]), *rest[1:])
        answer = self.function(context, *rest)
        if self.check is not None and isinstance(answer, Move):
            self.check(answer)
        return answer if self.encode is None else self.encode(answer)


def check_arguments(function: Callable[..., object], place: str, takes: tuple[str, ...]) -> None:
    """Refuse a function that cannot be called with these arguments, all of them by position, or that is async."""
    if is_deferred(function):
        raise DefinitionError(
            f"{place}: {name_of(function)} is async or a generator; a machine's functions are plain ones that answer "
            "at once (what waits for something is work: invoke it, or use agent.call)",
            code="invalid-handler",
        )
    code = getattr(function, "__code__", None)
    plain = isinstance(code, CodeType) and code.co_argcount == len(takes) and not code.co_kwonlyargcount
    if plain and not inspect.ismethod(function):
        return  # by far the most common; a bound method counts its self
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin that does not say
    try:
        signature.bind(*takes)
    except TypeError as error:
        raise DefinitionError(
            f"{place}: {name_of(function)} takes {short(str(signature))[1:-1]}, but is called with "
            f"({', '.join(takes)}), by position ({error})",
            code="invalid-handler",
        ) from None
