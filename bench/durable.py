"""The benchmark of durable steps: what keeping a log costs, and what it buys.

    python bench/durable.py                  a table
    python bench/durable.py --json           one JSON object
    python bench/durable.py --json --peers   the same, with LangGraph, Burr and pydantic-graph under "peers"
    python bench/durable.py --postgres URL   on that PostgreSQL (it is written to), and not on one that it starts

What is measured and how stands in README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import durable_ours
import environments
from durable_steps import QUICK, THOROUGH, Effort, report

TARGETS = {
    "memory_us": 40.0,
    "sqlite_us": 90.0,
    "growth_last_over_first": 1.5,
    "stored_mb_3000x100": 2.0,
    "hash_us_1000_lines": 20.0,
}


def main() -> None:
    """Measures ours, and with --peers everybody else in the same run."""
    options = arguments()
    effort = QUICK if options.quick else THOROUGH
    with postgres(options.postgres) as url:
        figures = durable_figures(effort, url)
    peers: dict[str, object] = {}
    if options.peers:
        for peer in environments.durable_peers():
            peers[peer.name] = environments.measured(peer, options.cache, quick=options.quick)
    figures |= {"peers": peers, "targets": TARGETS, "about": about(effort)}
    print(json.dumps(figures) if options.json else table(figures))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures durable steps, and those of peers if asked.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--peers", action="store_true", help="measure the peers too; installs each on first use")
    parser.add_argument(
        "--postgres", metavar="URL", help="a PostgreSQL database to write to (default: one that is started for it)"
    )
    parser.add_argument("--quick", action="store_true", help="only see that everything runs; the figures mean little")
    parser.add_argument(
        "--cache",
        type=Path,
        default=environments.default_cache(),
        metavar="DIR",
        help="where the environments of the peers are kept (default: %(default)s)",
    )
    return parser.parse_args()


@contextmanager
def postgres(url: str | None) -> Iterator[str | None]:
    """A PostgreSQL: that of the URL, else one that the tests know how to start, else none."""
    if url is not None:
        yield url
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    try:
        from tests.servers import running_postgres  # of this repository, and no package
    except ImportError as error:
        print(f"no PostgreSQL is measured: {error}; give --postgres URL", file=sys.stderr)
        yield None
        return
    with running_postgres() as server:
        yield server.url


def durable_figures(effort: Effort, postgres: str | None) -> dict[str, object]:
    """Our own figures: grouped ones by key, those of one commit per step (as the peers' are) under "single"."""
    single = report(durable_ours.SUBJECT, effort, name="interlock")
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as name:
        folder = Path(name)
        grouped = durable_ours.grouped(effort, folder, postgres)
        normal = partial(durable_ours.on_sqlite, full=False, group=durable_ours.GROUP)
        group_effort = Effort(growing=max(5, effort.growing // durable_ours.GROUP), seconds=effort.seconds)
        inside = folder / "grouped"
        inside.mkdir()
        return {
            **grouped,
            "growth_last_over_first": single["growth_last_over_first"],
            "growth_grouped_last_over_first": durable_ours.growth_single(group_effort, normal, inside),
            "stored_mb_3000x100": single["stored_mb_3000x100"],
            **durable_ours.replaying(effort),
            **durable_ours.resuming(effort, folder),
            "single": single,
        }


def table(figures: dict[str, object]) -> str:
    """The figures as lines of text."""
    lines = []
    for key, value in figures.items():
        if isinstance(value, float | int):
            target = TARGETS.get(key)
            lines.append(f"{key:34} {value:>12}" + ("" if target is None else f"   (target: at most {target:g})"))
    single = figures["single"]
    if isinstance(single, dict):
        lines += [f"single {key:27} {value:>12}" for key, value in single.items() if isinstance(value, float | int)]
    peers = figures["peers"]
    if isinstance(peers, dict):
        lines += [f"{name}: {json.dumps(found)}" for name, found in peers.items()]
    return "\n".join(lines)


def about(effort: Effort) -> dict[str, str]:
    """What the figures were taken with."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}",
        "method": f"CPU time; {effort.small} steps at 1 KB and 100 KB, {effort.growing} that grow by 100 B; median of "
        f"{effort.repeats}. Grouped: {durable_ours.GROUP} events at a time, one append for all",
        "growth": "one commit per step, as the peers' are; grouped beside it",
    }


if __name__ == "__main__":
    main()
