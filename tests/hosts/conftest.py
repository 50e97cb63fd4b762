"""DBOS for tests: one at a time in a process, on a database of its own."""

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock.hosts.dbos import DBOSHost, application_version

NO_SQLITE = pytest.mark.skipif(
    sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42),
    reason=f"DBOS on SQLite needs SQLite 3.42 or newer for Python 3.12 or newer: this is SQLite "
    f"{sqlite3.sqlite_version}, Python {sys.version.partition(' ')[0]}; the same cases run on PostgreSQL",
)


def until(holds: Callable[[], bool], within: float = 20.0) -> None:
    """Wait until something holds that another thread brings about."""
    ends = time.monotonic() + within
    while not holds():
        assert time.monotonic() < ends, "it has not come about"
        time.sleep(0.01)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Launch DBOS with some hosts; again for another process with the same database."""
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)  # what an earlier test has registered

    def launched(*hosts: DBOSHost, version: str | None = None) -> None:
        DBOS(
            config={
                "name": "tests",
                "system_database_url": f"sqlite:///{tmp_path}/runs.db",
                "application_version": version or application_version("tests", *hosts),
                "notification_listener_polling_interval_sec": 0.01,
                "log_level": "CRITICAL",
            }
        )
        DBOS.launch()

    yield launched
    DBOS.destroy(destroy_registry=True)
