"""``python -m pip ... download ... --dest FOLDER NAME==VERSION``: copies a wheel out of ``FAKE_WHEELS``."""

import os
import shutil
import sys
import time
from pathlib import Path

folder = Path(os.environ["FAKE_WHEELS"])
with (folder / "asked").open("a") as asked:
    asked.write(" ".join(sys.argv[1:]) + "\n")
# "Until so many have asked": for two at once, or for one that never ends.
(folder / "pid").write_text(str(os.getpid()))
while len((folder / "asked").read_text().splitlines()) < int(os.environ.get("FAKE_COMPANY", "1")):
    time.sleep(0.01)
name, _, version = sys.argv[-1].partition("==")
found = sorted(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
if not found:
    print("WARNING: Retrying after connection broken: Name or service not known")
    print(f"ERROR: No matching distribution found for {sys.argv[-1]}")
    sys.exit(1)
destination = Path(sys.argv[sys.argv.index("--dest") + 1])
destination.mkdir()
shutil.copy(found[0], destination)
