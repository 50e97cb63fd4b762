"""A draft, a subject, a person; and again, as often as the machine allows."""

import pytest

import interlock as il
from tests.examples.loading import load, talk

mails = load("email_drafter")
LABEL = {"subject": "Heating", "tone": "firm"}


def drafted(texts, answers, **task):
    models = il.ScriptedExecutors(text=texts)
    said = iter(answers)
    return mails.draft(mails.Task(wish="It is cold.", **task), models, lambda mail: next(said)), models


def test_each_revision_sees_the_drafts_before_it_and_what_was_said_of_them(capsys):
    mail, models = drafted(["Cold here.", LABEL, "It is cold.", LABEL], ["politer", "yes"], about=("A bill.",))
    assert (mail.body, mail.label.subject, mail.revisions, mail.sent) == ("It is cold.", "Heating", 1, True)
    asked = [request for request in models.text_requests if request.name == "draft"]
    assert [part.text for part in asked[0].messages[0].content] == [
        "For your information:\nA bill.",
        "Write a short mail: It is cold.",
    ]
    assert [message.role for message in asked[1].messages] == ["user", "assistant", "user"]
    assert [il.get_message_text(message) for message in asked[1].messages[1:]] == [
        "Cold here.",
        "Write the mail again: politer",
    ]
    assert capsys.readouterr().out == "Cold here.It is cold."


def test_after_three_revisions_only_yes_and_no_are_left(capsys):
    mail, models = drafted(["a", LABEL] * 4, ["again", "again", "", "again", "no"])
    assert (mail.revisions, mail.sent, models.remaining) == (3, False, 0)
    assert "No more revisions: yes or no." in capsys.readouterr().out


def test_a_mail_without_a_subject_can_still_be_read():
    mail, _ = drafted(["a", {"subject": "x" * 61, "tone": "firm"}], ["yes"])
    assert mail.sent
    assert mail.label is None


def test_a_draft_that_cannot_be_written_ends_in_words():
    with pytest.raises(SystemExit, match="no connection"):
        drafted([OSError("no connection")], [])


def test_as_a_program(tmp_path):
    (tmp_path / "bill.txt").write_text("120 euros", "utf-8")
    lines = talk(
        *("email_drafter", tmp_path, "The heating is broken.", "--with", "bill.txt"), said="Say please.\nyes\n"
    )
    assert lines.count("The heating is broken.") == 2
    assert "Say please." in lines
    assert lines[-1] == "send? Sent."
    assert "No such file" in talk("email_drafter", tmp_path, "x", "--with", "none.txt", status=1)[-1]


@pytest.mark.slow
def test_with_the_small_model(tmp_path):
    lines = talk("email_drafter", tmp_path, "The heating is broken.", "--model", "local", said="shorter\nyes\n")
    assert lines[-1].endswith("Sent.")
    assert sum(line.startswith("--- ") for line in lines) == 2
