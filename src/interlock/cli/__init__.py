"""The command line. ``interlock --help`` says what it can do; it needs the extra ``cli``."""

from __future__ import annotations

import sys

from interlock.errors import MissingExtraError

__all__ = ["main"]

_EXTRA = ("typer", "rich")


def main() -> None:
    """Run the command line and end the process: status 0 for done, 1 for an error, 2 for a call that cannot work."""
    try:
        from interlock.cli.app import run
    except KeyboardInterrupt:  # it takes a moment to load
        print("interlock: stopped; nothing was saved", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        told = MissingExtraError(
            f"the command line needs the package {missing!r}, which is not installed: pip install 'interlock[cli]'",
            package=missing,
            extra="cli",
        )
        print(f"interlock: {told.message}", file=sys.stderr)
        sys.exit(2)
    run()
