"""What the processor can: engines in wheels are compiled for some instructions, and end the process without them."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

__all__ = ["lacks_avx2"]


def lacks_avx2() -> bool:
    """Whether this is a processor on which code compiled for AVX2 would end the whole process."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        described = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return False  # then nobody can tell
    return "flags" in described and " avx2" not in described
