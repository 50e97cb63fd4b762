"""The engine that runs weights inside this process: llama.cpp, from the wheel ``xllamacpp``. Loaded once per process.

It is a server by nature. Here it is called directly, and the socket that it insists on opening is closed to everybody.
"""

from __future__ import annotations

import os
import platform
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast, final

from interlock.adapters.processor import lacks_avx2
from interlock.errors import MissingExtraError, ProviderError, UnsupportedRequestError

__all__ = ["Engine", "Piece", "load", "require_package"]

Piece = Mapping[str, object]
"""One piece of an answer, in the form of a streamed chat completion."""


class _Server(Protocol):
    """As much of ``xllamacpp.Server`` as is used here."""

    def handle_chat_completions(self, body: dict[str, object], callback: Callable[[Any], bool], /) -> None: ...


@final
class Engine:
    """Loaded weights. Threads may ask at once: they are answered one after the other, in the order they came."""

    def __init__(self, server: _Server, context: int) -> None:
        self._server = server
        self._context = context

    def answer(self, body: Mapping[str, object], take: Callable[[Piece], bool], *, place: str) -> None:
        """Have one answer written, piece by piece; returns when it is whole, or when ``take`` has had enough.

        Arguments:
            body: what is asked, as Chat Completions write it.
            take: called with each piece; True ends the answer there, between two tokens.
            place: which request this is, for errors.

        Raises:
            UnsupportedRequestError: it is longer than what the engine was loaded for.
            ProviderError: the engine refuses it for any other reason.
        """
        failures: list[Exception] = []
        refusals: list[Mapping[str, object]] = []

        def callback(piece: object) -> bool:
            # What is raised in here would be swallowed by the engine.
            try:
                given = cast("Mapping[str, object]", piece)
                if "error" in given:
                    refusals.append(cast("Mapping[str, object]", given["error"]))
                    return True
                return take(given)
            except Exception as error:  # noqa: BLE001  # raised again below
                failures.append(error)
                return True

        try:
            self._server.handle_chat_completions({**body, "stream": True}, callback)
        except RuntimeError as error:
            raise ProviderError(f"{place}: the engine cannot read this request: {error}") from error
        if failures:
            raise failures[0]
        if refusals:
            raise self._refusal(refusals[0], place)

    def _refusal(self, error: Mapping[str, object], place: str) -> Exception:
        if error.get("type") == "exceed_context_size_error":
            return UnsupportedRequestError(
                f"{place}: it has {error.get('n_prompt_tokens', 'too many')} tokens, and this model was loaded for "
                f"{self._context}, the answer included; ask with less text, or give local_writer a larger context="
            )
        return ProviderError(f"{place}: the engine refuses the request: {error.get('message', error)}")


_loading = Lock()


def load(weights: Path, *, context: int, threads: int) -> Engine:
    """Return the engine with these weights, loaded by the first call (0.4 s) and shared by all that follow.

    Arguments:
        weights: a GGUF file.
        context: tokens that a request and its answer may have together.
        threads: how many threads work on an answer.

    Raises:
        MissingExtraError: the package is not installed, or not made for this machine.
        ProviderError: the file is none that the engine can load.
    """
    with _loading:
        # The engine's threads are not there after a fork, so a child loads its own.
        return _load(str(weights), context, threads, os.getpid())


def require_package() -> Any:  # noqa: ANN401  # it ships no types
    """Return the engine's package; raises :class:`MissingExtraError` where it is not installed or cannot run."""
    if lacks_avx2():
        raise _unsupported("this processor has no AVX2 instructions, which the engine is compiled for")
    try:
        import xllamacpp
    except ImportError as error:
        if (sys.platform, platform.machine()) not in _MACHINES:
            raise _unsupported(f"this is {platform.system() or sys.platform} on {platform.machine()}") from error
        if isinstance(error, ModuleNotFoundError):
            raise MissingExtraError(
                "the local writer needs the package 'xllamacpp', which is not installed: "
                "pip install 'interlock[local]'",
                package="xllamacpp",
                extra="local",
            ) from error
        raise _unsupported(f"its engine does not load here ({error})") from error
    return cast("Any", xllamacpp)


_MACHINES = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")}


@lru_cache(maxsize=4)
def _load(weights: str, context: int, threads: int, _process: int) -> Engine:
    package = require_package()
    parameters = package.CommonParams()
    parameters.model.path = weights
    parameters.model_alias = {Path(weights).stem}
    parameters.n_ctx = context
    parameters.ctx_shift = False  # what does not fit is an error, and no quiet forgetting
    # One answer at a time, and each from the beginning: what was asked before then changes no rounding, and so no word.
    parameters.n_parallel = 1
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    # The threads wait for each other by spinning. On two cores, one of them busy, two threads wrote 2 tokens a second
    # and one wrote 70.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.warmup = False
    parameters.verbosity = -1
    # Nobody shall reach it but us: no page, no inspection, and a key that nobody knows.
    parameters.ui = parameters.endpoint_slots = parameters.endpoint_props = False
    parameters.api_keys = [secrets.token_hex(32)]
    parameters.port = 0
    try:
        with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
            if sys.platform != "win32":
                # No port at all, but a socket in a folder of our own, which is gone once the engine runs.
                parameters.hostnames = [str(Path(folder, "s.sock"))]
            return Engine(cast("_Server", package.Server(parameters)), context)
    except (RuntimeError, ValueError) as error:
        raise ProviderError(f"the engine cannot load {weights}: is it a whole GGUF file? ({error})") from error


def _unsupported(why: str) -> MissingExtraError:
    return MissingExtraError(
        "the package 'xllamacpp' (extra 'local') runs on Linux (x86-64 with AVX2, or ARM), macOS on ARM and Windows "
        f"(x86-64): {why}. Use another executor for text",
        package="xllamacpp",
        extra="local",
        code="unsupported-platform",
    )
