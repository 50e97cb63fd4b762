"""Random cases in the corpus vocabulary: ``python -m tests.conformance.generate --seed S --count N > cases.json``.

The same seed always gives the same cases. They come without traces: what ought to happen is asked of something else
(the original, or this engine at another time). Unlike the corpus, regions are targeted from inside and outside their
parallel state as often as anything else is: there the original has its faults.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from tests.conformance.generate_chart import Chart, chart
from tests.conformance.generate_parts import Parts
from tests.conformance.randomness import Randomness

Json = dict[str, Any]


def case(seed: int) -> Json:
    """One case; everything about it follows from the seed."""
    random = Randomness(seed)
    tree = chart(random)
    parts = Parts(random, tree)
    machine = parts.machine()
    alphabet = list(tree.alphabet)
    return {
        "id": f"generated/{seed}",
        "kind": "random",
        "machine": machine,
        "events": sorted(alphabet),
        "steps": [_step(random, tree, parts) for _ in range(random.between(4, 12))],
    }


def _step(random: Randomness, tree: Chart, parts: Parts) -> Json:
    if parts.timers and random.chance(0.22):
        return {"fire": random.one(parts.timers)}
    if parts.children and random.chance(0.22):
        child = random.one(parts.children)
        if random.chance(0.7):
            return {"done": child, "output": random.between(0, 9)}
        return {"fail": child, "error": random.one(("broken", "late"))}
    if random.chance(0.08):
        return {"persist": True}
    event = random.one(tree.alphabet)
    if random.chance(0.15):
        return {"send": {"type": event, "v": random.between(0, 5)}}
    return {"send": event}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print ``count`` cases, seeds counting up from ``seed``, as one JSON document."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.generate", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--count", type=int, default=10, help="how many cases (%(default)s)")
    options = parser.parse_args(arguments)
    cases = [case(seed) for seed in range(options.seed, options.seed + options.count)]
    json.dump({"schema": 1, "topic": "generated", "count": len(cases), "cases": cases}, sys.stdout, ensure_ascii=False)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
