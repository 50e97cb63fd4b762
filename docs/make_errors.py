"""Prints the page of errors: ``python docs/make_errors.py > docs/errors.md``."""

from __future__ import annotations

import inspect

from interlock import errors

HEAD = """# Errors

Every failure is a typed exception, or an `ErrorInfo` (code, type, message, data, cause) where it is handed to
`on_error` or kept in a snapshot. The code is stable: branch on it, never on the message. All exceptions derive from
`InterlockError`; the tree stands in `interlock.errors`.

This page is made from `interlock.errors.CATALOGUE`.

| code | what has happened | what to do |
|---|---|---|
"""


def main() -> None:
    """Print the page."""
    rows = [f"| `{code}` | {entry.cause} | {entry.remedy} |" for code, entry in sorted(errors.CATALOGUE.items())]
    print(HEAD + "\n".join(rows))
    print("\n## Exceptions\n")
    for name in sorted(errors.__all__):
        kind = getattr(errors, name)
        if inspect.isclass(kind) and issubclass(kind, Exception):
            print(f"- `{name}`: {(inspect.getdoc(kind) or '').splitlines()[0]}")


if __name__ == "__main__":
    main()
