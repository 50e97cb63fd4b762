"""Finding a machine that somebody has written: ``package.module:machine`` or ``path/to/file.py:machine``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from interlock.agent.reading import AnyMachine
from interlock.cli.stops import CommandError, UsageError
from interlock.errors import InterlockError, did_you_mean
from interlock.statechart import Machine

__all__ = ["find"]


def find(target: str) -> AnyMachine:
    """Return the machine that ``target`` names; its module is imported, so its code runs.

    Where the module holds one machine, its name may be left out. Raises :class:`UsageError` where nothing has the name,
    :class:`CommandError` where the module cannot be imported.
    """
    source, colon, name = target.rpartition(":")
    if not colon or name.endswith((".py", "\\")) or "/" in name or "\\" in name:
        source, name = target, ""
    if not source:
        raise UsageError(f"{target!r} names no machine; give module:machine or file.py:machine")
    module = _file(Path(source)) if source.endswith(".py") else _module(source)
    return _named(module, source, name) if name else _only(module, source)


def _named(module: ModuleType, source: str, name: str) -> AnyMachine:
    found: object = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            known = _machines(module)
            hint = did_you_mean(name, known) if known else "It holds no machine."
            raise UsageError(f"{source} has no {name!r}. {hint}") from None
    if not isinstance(found, Machine):
        raise UsageError(
            f"{source}:{name} is a {type(found).__name__}, not a machine; name what agent.machine(...) returned"
        )
    return found  # pyright: ignore[reportUnknownVariableType]  # any machine


def _only(module: ModuleType, source: str) -> AnyMachine:
    known = _machines(module)
    if len({id(machine) for machine in known.values()}) == 1:
        return next(iter(known.values()))
    if not known:
        raise UsageError(f"{source} holds no machine")
    raise UsageError(f"{source} holds several machines; say which: {', '.join(f'{source}:{name}' for name in known)}")


def _machines(module: ModuleType) -> dict[str, AnyMachine]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Machine)}


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            file = f"{name.replace('.', '/')}.py"
            raise UsageError(f"there is no module {name!r} here; for a file, give its path: {file}:machine") from None
        raise _broken(name, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(name, error) from error


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # beside the file, as Python does for a script
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module  # where classes look up the types that they name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if before is None:
            del sys.modules[path.stem]
        else:
            sys.modules[path.stem] = before
        raise _broken(str(path), error) from error
    return module


def _broken(source: str, error: BaseException) -> CommandError:
    told = error.message if isinstance(error, InterlockError) else f"{type(error).__name__}: {error}"
    return CommandError(f"{source} cannot be imported{_line(source, error)}: {told}")


def _line(source: str, error: BaseException) -> str:
    """Return the last line of the author's own file that the error came through."""
    if isinstance(error, SyntaxError):
        return ""  # says so itself
    here, found = error.__traceback__, ""
    stem = Path(source).stem if source.endswith(".py") else source.rpartition(".")[2]
    while here is not None:
        if Path(here.tb_frame.f_code.co_filename).stem == stem:
            found = f" (line {here.tb_lineno})"
        here = here.tb_next
    return found
