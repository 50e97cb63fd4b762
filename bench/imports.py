"""What `import interlock` costs: prints one JSON object.

Each number is the least of several fresh processes, in CPU milliseconds, less what starting Python costs.
No test asserts on them: time depends on the machine. What is *loaded* does not, and tests/test_house.py holds it.

Usage: python bench/imports.py [MODULE...]
"""

import json
import subprocess
import sys

ROUNDS = 7
PROGRAM = """
import json, sys, time
before, loaded = time.process_time(), set(sys.modules)
for name in sys.argv[1:]:
    __import__(name)
print(json.dumps([1000 * (time.process_time() - before), len(set(sys.modules) - loaded)]))
"""


def cost(*modules: str) -> tuple[float, int]:
    """Return (CPU milliseconds, number of modules loaded) for importing ``modules`` in a fresh interpreter."""
    runs: list[tuple[float, int]] = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *modules], check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        milliseconds, count = json.loads(done.stdout)
        runs.append((milliseconds, count))
    return min(runs)


def main(modules: list[str]) -> None:
    """Print the cost of each module, and of the two dependencies that every one of them shares."""
    report: dict[str, dict[str, float]] = {}
    for name in [*modules, "pydantic", "anyio"]:
        milliseconds, count = cost(name)
        report[name] = {"cpu_ms": round(milliseconds, 1), "modules": count}
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1:] or ["interlock", "interlock.statechart"])
