"""The commands and their options; what they do stands beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import interlock
from interlock.cli.log import check_logs, diff_logs, list_logs, show_log
from interlock.cli.options import Model, Status
from interlock.cli.output import Output, end, open_streams
from interlock.cli.questions import QuestionOptions, twenty_questions
from interlock.cli.run import RunOptions, run_machine
from interlock.cli.screen import Screen
from interlock.cli.stops import CommandError, UsageError
from interlock.cli.support import SupportOptions, support
from interlock.cli.words import clean
from interlock.errors import InterlockError

__all__ = ["app", "run"]

app = typer.Typer(
    name="interlock",
    help="AI agents that can only make legal moves.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="To begin: interlock demo support. With a machine of your own: interlock run path/to/file.py:machine.",
)
demo = typer.Typer(name="demo", help="Agents to try, on your own machine and without a key.", no_args_is_help=True)
app.add_typer(demo)
log = typer.Typer(
    name="log",
    help="What is kept of runs: listed, shown, compared, checked.",
    no_args_is_help=True,
    epilog="For example: interlock log list sqlite:runs.db",
)
app.add_typer(log)


def run() -> None:
    """Run the command line; an error that this library raises on purpose is one line, and never a traceback."""
    open_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        sys.exit(end(error))


def _version(wanted: bool) -> None:  # noqa: FBT001  # as typer calls it
    if wanted:
        print(f"interlock {interlock.__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Say the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """AI agents that can only make legal moves."""


@demo.callback()
def choose() -> None:
    """Agents to try, on your own machine and without a key."""


_Model = Annotated[
    Model | None, typer.Option(help="Who plays the model: one in this process, you, or a script. [default: local]")
]
_Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Stop where a person is waited for, and save the case. Without a terminal that happens anyhow, to a file "
        "that is named then.",
    ),
]
_Resume = Annotated[Path | None, typer.Option(metavar="FILE", help="Go on with a saved case.")]


@demo.command("support", short_help="A support desk: a model proposes, a person approves.")
def support_command(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="What the customer says. With --resume: the words that the case waits for.",
            show_default=False,
        ),
    ] = None,
    *,
    model: _Model = None,
    order_amount: Annotated[
        float | None, typer.Option(min=0, metavar="AMOUNT", help="What the order cost. [default: 49.90]")
    ] = None,
    charges: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="How often the order was charged. [default: 2]")
    ] = None,
    shipped: Annotated[
        bool | None, typer.Option("--shipped/--not-shipped", help="Whether the order is on its way. [default: not]")
    ] = None,
    pretend: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT", help="Let the model's first answer be this one, legal or not, and see what happens."
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ANSWER",
            help="What the person says, for scripts: approve, change or reject the proposal; accept, edit or reject "
            "the reply. Once for each time that a person is waited for.",
        ),
    ] = None,
    save: _Save = None,
    resume: _Resume = None,
) -> None:
    """A shop's support desk: a model sorts the request among the legal moves, a person approves, then it happens.

    A model also drafts the reply to the customer; a person accepts it, edits it, or sends none.
    """
    options = SupportOptions(
        text=text,
        model=model,
        order_amount=order_amount,
        charges=charges,
        shipped=shipped,
        pretend=pretend,
        answers=answer or (),
        save=save,
        resume=resume,
    )
    _carry_out(lambda screen: support(options, screen))


@demo.command("twenty-questions", short_help="A game: a model asks and guesses, you answer.")
def questions_command(
    *,
    questions: Annotated[
        int | None,
        typer.Option(min=1, max=100, metavar="N", help="How many turns; the last is a guess. [default: 20]"),
    ] = None,
    model: _Model = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(metavar="yes|no|unsure", help="What the person says, for scripts; once for each question."),
    ] = None,
    save: _Save = None,
    resume: _Resume = None,
) -> None:
    """Think of something: a model asks or guesses, and on the last turn only a guess is legal."""
    options = QuestionOptions(turns=questions, model=model, answers=answer or (), save=save, resume=resume)
    _carry_out(lambda screen: twenty_questions(options, screen))


@app.command(
    "run",
    short_help="Run a machine of your own.",
    epilog="""For example:

\b
  interlock run app.py:machine --input '{"amount": 3}' --model scripted
  interlock run app.py:machine --resume interlock-run.json --event Approve
  interlock run app.py:machine --resume interlock-run.json --reply name=Ada""",
)
def run_command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:MACHINE",
            help="The machine: package.module:name, or path/to/file.py:name.",
            show_default=False,
        ),
    ],
    *,
    input: Annotated[
        str | None, typer.Option(metavar="JSON", help="What the run starts from, if the machine takes an input.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="local|human|scripted|openai[:MODEL]",
            help="Who plays the model: one in this process, you, a script, or an OpenAI-compatible endpoint. "
            "[default: local]",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The endpoint, with its /v1. [default: OpenAI's own]")
    ] = None,
    event: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EVENT",
            help='An event to send where one is waited for: its type, or a JSON object with "type" and its fields. '
            "Once for each time.",
        ),
    ] = None,
    reply: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="The reply to a question, by its name or id, as soon as it is asked: JSON, or plain words where a "
            "text is wanted. Once for each question.",
        ),
    ] = None,
    save: _Save = None,
    resume: _Resume = None,
) -> None:
    """Run a machine of your own: see its decisions and texts, say what it waits for, save it, go on with it.

    The module is imported, so its code runs. The exit status is 0 if the run has ended or waits for somebody, 1 if it
    cannot go on, and 2 if it was called in a way that cannot work.
    """
    options = RunOptions(
        target=target,
        input=input,
        model=model,
        base_url=base_url,
        events=event or (),
        replies=reply or (),
        save=save,
        resume=resume,
    )
    _carry_out(lambda screen: run_machine(options, screen))


@log.callback()
def look() -> None:
    """What is kept of runs: listed, shown, compared, and held against today's machine. Nothing is changed by it."""


_Machine = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE",
        help="The machine: package.module:name, or path/to/file.py:name. The module is imported, so its code runs.",
        show_default=False,
    ),
]
_Store = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help="Where the logs are: sqlite:runs.db, postgresql://user@host/name, redis://host; a file of entries, one a "
        "line (*.jsonl), or a folder of such files.",
        show_default=False,
    ),
]
_Thread = Annotated[str, typer.Argument(metavar="THREAD", help="The log's thread id.", show_default=False)]
_Status = Annotated[
    list[Status] | None,
    typer.Option("--status", help="Only logs that stand like this; may be given several times. [default: all]"),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines for people.")]


@log.command("check", short_help="Say whether today's machine can go on from stored logs.")
def log_check_command(
    machine: _Machine,
    store: _Store,
    threads: Annotated[
        list[str] | None,
        typer.Argument(metavar="THREAD", help="Only these logs. [default: all of this machine]", show_default=False),
    ] = None,
    *,
    status: _Status = None,
    json: _Json = False,
) -> None:
    """Say of each stored log whether today's machine can go on from it; for before a deploy.

    Logs are replayed: nothing is executed but the machine's own pure functions. A log is ok, or migrates (the machine
    has migrate=, and it takes the snapshot that is kept), or is of another version (other-version), leads to another
    state now (diverged), makes a function of the machine raise (fails), or is no log (invalid). Logs of other machines
    are left out and counted.

    The exit status is 0 if all can be gone on with, and 1 if not.
    """
    fine = True

    def check(screen: Screen) -> None:
        nonlocal fine
        fine = check_logs(machine, store, threads or (), status or (), screen, as_json=json)

    _carry_out(check, stopped="nothing was changed")
    if not fine:
        raise typer.Exit(1)


@log.command("list", short_help="List the logs of a store.")
def log_list_command(store: _Store, *, status: _Status = None, json: _Json = False) -> None:
    """List the logs of a store, those that were written to last first."""
    _carry_out(lambda screen: list_logs(store, status or (), screen, as_json=json), stopped="nothing was changed")


@log.command("show", short_help="Show the entries of a log, or export it.")
def log_show_command(store: _Store, thread: _Thread, *, json: _Json = False) -> None:
    """Show the entries of a log: when what happened, to whom, and what it cost.

    With --json, an entry a line: redirected to a file.jsonl, a log is exported, and the other commands read it there.
    """
    _carry_out(lambda screen: show_log(store, thread, screen, as_json=json), stopped="nothing was changed")


@log.command("diff", short_help="Compare two logs of one machine.")
def log_diff_command(
    machine: _Machine,
    store: _Store,
    thread: _Thread,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The thread id of the other log.", show_default=False)],
    *,
    json: _Json = False,
) -> None:
    """Compare two logs of one machine: what they have in common, what follows in each, how their states differ."""
    _carry_out(
        lambda screen: diff_logs(machine, store, thread, other, screen, as_json=json), stopped="nothing was changed"
    )


def _carry_out(command: Callable[[Screen], None], *, stopped: str = "nothing was saved") -> None:
    output = Output(sys.stdout)
    console = Console(file=output.file, highlight=False)
    if console.width < 1:  # COLUMNS=0, which means that nobody knows
        console.width = 80
    screen = Screen(console, output)
    try:
        command(screen)
    except (InterlockError, CommandError) as error:
        _stop(str(error), 2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        if output.failure is None:
            if sys.stdout.isatty():
                print()
            left = stopped if screen.kept is None else f"the case is in {screen.kept}, as far as it came"
            _stop(f"stopped; {left}", 130)
    if output.failure is not None:
        raise typer.Exit(end(output.failure))


def _stop(message: str, status: int) -> None:
    line = clean(" ".join(message.split()))
    print(f"interlock: {line}", file=sys.stderr)
    raise typer.Exit(status)
