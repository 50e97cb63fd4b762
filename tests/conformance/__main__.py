"""``python -m tests.conformance PATH...``: replay files or folders of cases and count what passes.

Without a path the repository's own corpus is run. The first differences are printed, and last ``N passed, M failed``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.conformance.corpus import DATA, UnreadableFileError, cases_in, files_in
from tests.conformance.replay import Difference, differences

SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; returns the exit status: 0 if every case passed, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders of cases (JSON)")
    parser.add_argument(
        "--show", type=int, default=SHOWN, metavar="N", help="how many differences to print (%(default)s)"
    )
    options = parser.parse_args(arguments)

    passed = failed = shown = 0
    for found in _results(options.paths or [DATA]):
        if not found:
            passed += 1
            continue
        failed += 1
        for difference in found:
            if shown < options.show:
                print(difference)
                shown += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def _results(paths: Sequence[Path]) -> Iterator[list[Difference]]:
    """The differences of each case; a file that cannot be read counts as one failed case."""
    for path in paths:
        try:
            files = files_in(path)
        except UnreadableFileError as error:
            yield [Difference(str(path), 0, "file", "readable", str(error))]
            continue
        for file in files:
            try:
                cases = cases_in(file)
            except UnreadableFileError as error:
                yield [Difference(str(file), 0, "file", "readable", str(error))]
                continue
            for case in cases:
                yield differences(case)


if __name__ == "__main__":
    sys.exit(main())
