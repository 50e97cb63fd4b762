"""Why a command ends early: the line that is shown, and the exit status."""

from __future__ import annotations

__all__ = ["CommandError", "UsageError"]


class CommandError(Exception):
    """The command cannot go on; its message is the one line that is shown. Exit status 1."""


class UsageError(CommandError):
    """The command was called in a way that cannot work. Exit status 2."""
