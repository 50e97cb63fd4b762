"""The states of a machine: plain ones and compound ones, regions, ends, choices and history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from interlock.agent.binding import Bound
from interlock.agent.fields import FinalFields, StateFields, Targets
from interlock.agent.keywords import known_keywords
from interlock.agent.reasons import short
from interlock.agent.shapes import check_shape
from interlock.agent.transitions import is_function
from interlock.errors import DefinitionError
from interlock.statechart import UNSET, Move, State
from interlock.statechart import choice as engine_choice
from interlock.statechart import final as engine_final
from interlock.statechart import history as engine_history
from interlock.statechart import state as engine_state

__all__ = ["States"]

P = ParamSpec("P")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class States(Bound[P, C, I, O]):
    """The words for states."""

    __slots__ = ()

    def state(
        self,
        *,
        initial: str | tuple[str, object] | None = None,
        states: Mapping[str, State] | None = None,
        id: str | None = None,
        context: type[object] | None = None,
        **fields: Unpack[StateFields[C]],
    ) -> State:
        """Return a state; one with ``states`` is compound.

        Arguments:
            initial: the child to enter, or ``(child, input)`` to give it an input, which ``on_at`` handlers see.
            states: the child states.
            id: a name by which it can be a target from anywhere, as ``"#id"``.
            context: a type narrower than the agent's context. A step that would have the state active with any other
                context is refused; ``agent.narrow`` gives words whose functions see the narrower type.
            fields: what happens in it, and what runs while it is active.
        """
        known_keywords("state", fields, StateFields, also=("initial", "states", "id", "context"))
        check_shape("state", "initial", initial)
        check_shape("state", "states", states)
        if initial is not None and not states:
            raise DefinitionError(
                f"state(initial={initial!r}) has no child states to begin with; give states={{...}}",
                code="invalid-state",
            )
        return engine_state(
            initial=initial,
            states=states,
            id=id,
            context=self._narrower(context),
            **self._state_fields("state", fields),
        )

    def parallel(
        self,
        *,
        states: Mapping[str, State],
        id: str | None = None,
        context: type[object] | None = None,
        **fields: Unpack[StateFields[C]],
    ) -> State:
        """Return a state whose children, its regions, are all active at once. Arguments as for :meth:`state`."""
        known_keywords("parallel", fields, StateFields, also=("states", "id", "context"))
        check_shape("parallel", "states", states)
        return engine_state(
            kind="parallel",
            states=states,
            id=id,
            context=self._narrower(context),
            **self._state_fields("parallel", fields),
        )

    @overload
    def final(self, *, output: Callable[[C], O], **fields: Unpack[FinalFields[C]]) -> State: ...
    @overload
    def final(self, *, output: O | None = None, **fields: Unpack[FinalFields[C]]) -> State: ...
    def final(self, *, output: Any = UNSET, **fields: Any) -> State:
        """Return a state that ends the machine; ``output``, a value or a function of the context, is what it gives."""
        return self._final("final", output, fields)

    def end(self, *, output: Callable[[C], object] | object = UNSET, **fields: Unpack[FinalFields[C]]) -> State:
        """Return a final state inside another; its output goes to that one's ``on_done`` and may be of any type.

        ``agent.done(T, handler)`` is how ``on_done`` says which.
        """
        return self._final("end", output, fields)

    def choice(
        self,
        choose: Callable[[C], Move],
        /,
        *,
        to: Targets | None = None,
        id: str | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> State:
        """Return a state that is left at once, to where ``choose`` says."""
        if not is_function(choose):
            raise DefinitionError(
                f"choice({short(choose)}): give a function of the context that returns agent.goto(...)",
                code="invalid-state",
            )
        return engine_choice(self._adapted(choose, "choice", ("context",)), to=to, id=id, meta=meta)

    def history(self, *, deep: bool = False, target: Targets | None = None, id: str | None = None) -> State:
        """Return a state that stands for what was last active beside it, or for ``target`` the first time."""
        return engine_history(deep=deep, target=target, id=id)

    def _narrower(self, given: type[object] | None) -> Any:  # noqa: ANN401  # a class, checked by the engine
        return self._narrow.kind if given is None and self._narrow is not None else given

    def _final(self, word: str, output: object, fields: Mapping[str, Any]) -> State:
        known_keywords(word, fields, FinalFields, also=("output",))
        return engine_final(
            output=self._adapted(output, f"{word}(output=)", ("context",)),
            context=self._narrower(None),
            **self._state_fields(word, fields),
        )
