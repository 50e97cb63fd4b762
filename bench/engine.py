"""The benchmark of the statechart engine.

    python bench/engine.py                  a table
    python bench/engine.py --json           one JSON object
    python bench/engine.py --json --peers   the same, with the peers under "peers"
    python bench/engine.py --markdown       the table as it stands in docs/statecharts.md

What is measured and how stands in README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path

import environments
import table
from measure import QUICK, THOROUGH, Effort, report


def main() -> None:
    """Measures the engine, and with --peers everybody else in the same run."""
    options = arguments()
    effort = QUICK if options.quick else THOROUGH
    figures = engine_figures(effort)
    peers: dict[str, object] = {}
    if options.peers:
        for peer in environments.all_peers():
            peers[peer.name] = environments.measured(peer, options.cache, quick=options.quick)
    figures |= {"peers": peers, "about": about(effort)}
    if options.json:
        print(json.dumps(figures))
    else:
        print(table.markdown(figures) if options.markdown else table.table(figures))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures the statechart engine, and its peers if asked.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--markdown", action="store_true", help="print the table in the form of the documentation")
    parser.add_argument("--peers", action="store_true", help="measure the peers too; installs each on first use")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs; the figures mean little")
    parser.add_argument(
        "--cache",
        type=Path,
        default=environments.default_cache(),
        metavar="DIR",
        help="where the environments of the peers are kept (default: %(default)s)",
    )
    return parser.parse_args()


def engine_figures(effort: Effort) -> dict[str, object]:
    """Our own figures."""
    try:
        import ours
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "interlock":
            raise
        sys.exit("interlock is not installed here: run `pip install -e .` in the root of the repository first")
    return report(ours.PLAN, effort, name="interlock")


def about(effort: Effort) -> dict[str, str]:
    """What the figures were taken with."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}",
        "method": f"CPU time, median of {effort.repeats} repeats of about {effort.seconds} s after a warm-up; "
        "spread: least and greatest",
    }


if __name__ == "__main__":
    main()
