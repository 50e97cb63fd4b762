"""What a host on DBOS is given and what comes back, looked at: arguments, the place it is asked in, errors."""

from __future__ import annotations

import asyncio
import math
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from interlock import errors
from interlock.agent.reasons import short
from interlock.errors import BindError, ErrorInfo, InterlockError, MachineFailedError, MissingExtraError
from interlock.journal.entries import LONGEST_ID, is_entry_id

if TYPE_CHECKING:
    from dbos import PortableWorkflowError

__all__ = ["check_id", "check_name", "check_place", "check_poll", "library", "raise_known"]

_NAMES = f"give a text of 1 to {LONGEST_ID} characters, without NUL and lone surrogates"


def check_name(name: object) -> None:
    """Refuse what cannot name a host."""
    if name is not None and not is_entry_id(name):
        raise BindError(f"name={short(name)}; {_NAMES}")


def check_poll(poll: object) -> None:
    """Refuse what is no time between two looks."""
    if isinstance(poll, bool) or not isinstance(poll, int | float) or not 0 < poll < math.inf:
        raise BindError(f"poll={short(poll)}; give seconds, more than 0")


def check_id(workflow_id: object) -> None:
    """Refuse what cannot name a workflow."""
    if not is_entry_id(workflow_id):
        raise BindError(f"workflow_id={short(workflow_id)}; {_NAMES}")


def check_place() -> None:
    """Refuse to be asked in a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise BindError(
        "a DBOSHost was asked in a running event loop, which it would block; ask it in a thread: await "
        'anyio.to_thread.run_sync(host.standing, "case-7")'
    )


def library() -> ModuleType:
    """Return the package ``dbos``; raises :class:`MissingExtraError`."""
    try:
        import dbos
    except ImportError as error:
        raise MissingExtraError(
            "running machines on DBOS needs the package 'dbos', which is not installed: pip install 'interlock[dbos]'",
            package="dbos",
            extra="dbos",
        ) from error
    return dbos


def raise_known(error: PortableWorkflowError) -> NoReturn:
    """Raise what a workflow has ended with as the error that it was, where it is one of this library's."""
    data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
    if error.name == "MachineFailedError" and "info" in data:
        raise MachineFailedError(str(data["message"]), info=ErrorInfo.from_json(data["info"])) from None
    kind = getattr(errors, str(error.name), None)
    if isinstance(kind, type) and issubclass(kind, InterlockError):
        known = kind.__new__(kind, error.message)
        vars(known).update({**data, "message": error.message, "code": str(error.code)})
        raise known from None
    raise error
