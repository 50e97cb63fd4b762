"""Child machines: what a state that starts one says about it, and how values pass between the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from interlock.agent.keywords import checked_name
from interlock.agent.reasons import short
from interlock.errors import DefinitionError, InputError, NotJsonError
from interlock.statechart import Machine
from interlock.statechart.frozen import freeze

__all__ = ["ChildSpec"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ChildSpec:
    """A machine that a state starts. ``name`` is the source under which ``provide`` may put another one."""

    machine: Machine[Any, Any, Any]
    name: str

    @classmethod
    def of(cls, machine: Machine[Any, Any, Any], name: str | None) -> ChildSpec:
        """Return what is said about ``machine``; raises :class:`DefinitionError` for what is none."""
        if not isinstance(cast("object", machine), Machine):
            hint = "; a function is called with agent.call(...)" if callable(machine) else ""
            raise DefinitionError(
                f"child({short(machine)}): give a machine, as agent.machine(...) returns it{hint}", code="invalid-child"
            )
        checked_name("child", name, "invalid-child")
        source = machine.id if name is None else name
        if source.startswith("agent."):
            raise DefinitionError(
                f"child(name={source!r}): names that begin with 'agent.' are the library's own; choose another",
                code="reserved-name",
            )
        return cls(machine=machine, name=source)

    def check_input(self, given: object) -> None:
        """Refuse a constant input that the machine will refuse when it is started."""
        try:
            self.checked(given)
        except InputError as error:
            needs = "it needs an input, and none is given" if given is None else f"input={short(given)}"
            raise DefinitionError(f"child({self.name!r}): {needs}: {error.message}", code="invalid-child") from error

    def checked(self, given: object) -> object:
        """Return an input for the machine as it is, if the machine takes it; raises :class:`InputError`."""
        # As JSON: that is how a child machine gets it.
        self.machine.checked_input(freeze(given, "input", models=True))
        return given

    def decode(self, output: object) -> object:
        """Return the output of the machine (or of a function provided in its place) as the machine's output type."""
        kind = self.machine.output_type
        if kind is None:
            return output
        try:
            data: object = freeze(output)
        except NotJsonError:
            return kind.validate_python(output)  # a machine in this process has made it already
        return kind.read(data)
