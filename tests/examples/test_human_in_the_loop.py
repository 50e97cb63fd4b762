"""The example as a user runs it: each command is a process of its own."""

from tests.examples.programs import program

letter = program("human_in_the_loop.py")


def test_a_draft_is_reviewed_in_other_processes_and_a_double_click_counts_once(tmp_path):
    draft = "We are sorry: the parcel came too late."
    assert letter(tmp_path, "start", "one", "The parcel came too late.") == f"to review: {draft}"
    assert letter(tmp_path, "start", "one", "The parcel came too late.") == f"to review: {draft}"  # nothing new
    again = f"{draft} (Now: Friendlier.)"
    for told in ("", " (that click was counted already)"):
        assert letter(tmp_path, "reject", "one", "Friendlier.", "--click", "a") == f"to review: {again}{told}"
    for told in ("", " (that click was counted already)"):
        assert letter(tmp_path, "approve", "one", "--click", "b") == f"sent: {again}{told}"
    assert letter(tmp_path, "approve", "one", "--click", "c") == f"sent: {again} (nothing was waiting for that)"
    assert letter(tmp_path, "show", "one").splitlines() == [
        "0 @agent.init -> working",
        "1 @done.invoke.0.letters.drafting -> waiting",
        "2 Reject -> working",
        "3 @done.invoke.0.letters.drafting -> waiting",
        "4 Approve -> done",
        f"draft: {again}",
    ]


def test_what_is_not_there_or_another(tmp_path):
    assert letter(tmp_path, "show", "two") == "there is no letter two"
    assert letter(tmp_path, "approve", "two", "--click", "a") == "there is no letter two"
    letter(tmp_path, "start", "two", "It rains.")
    assert "was started with another input" in letter(tmp_path, "start", "two", "It snows.", status=1)
