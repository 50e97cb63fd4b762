"""Who presses Ctrl-C, or is not there, where an example asks: it ends at once, and says what has come of it."""

import signal
import sys
import time

import pytest

from tests.examples.loading import talk, typing

ASKING = {
    "email_drafter": (["Write."], "send? ", "nothing was sent"),
    "game_host": ([], "take? ", "the game goes on from nim.jsonl"),
    "refund_desk": (["Broken. Refund 90."], "[yes/no] ", "nothing is paid back"),
    "todo_nl": ([], "> ", ""),
    "twenty_questions": ([], "unsure? ", "Nobody has answered"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.slow
@pytest.mark.parametrize("name", ASKING)
def test_control_c_ends_it_at_once(name: str, tmp_path):
    arguments, prompt, said = ASKING[name]
    with typing(name, tmp_path, *arguments) as (process, _):
        assert process.stdout is not None
        seen = ""
        while not seen.endswith(prompt):
            more = process.stdout.read(1)
            assert more, seen
            seen += more
        time.sleep(0.5)  # it has asked, and now it waits
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, said in errors, "Traceback" in errors) == (1 if said else 0, True, False), errors


def test_where_nobody_is_there_it_is_said(tmp_path):
    assert "nothing is paid back" in talk("refund_desk", tmp_path, "Broken. Refund 90.", status=1)[-1]
