"""The commands and their options; what they do stands beside them."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import interlock
from interlock.cli.options import Model, Options
from interlock.cli.screen import Screen
from interlock.cli.stops import CommandError, UsageError
from interlock.cli.support import support
from interlock.errors import InterlockError

__all__ = ["app", "run"]

app = typer.Typer(
    name="interlock",
    help="AI agents that can only make legal moves.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
demo = typer.Typer(name="demo", help="Agents to try, on your own machine and without a key.", no_args_is_help=True)
app.add_typer(demo)


def run() -> None:
    """Run the command line; an error that this library raises on purpose is one line, and never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # an old terminal may show a mark as '?', but must not end the program
    app()


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


@demo.command("support")
def support_command(
    text: Annotated[
        str | None,
        typer.Argument(
            help="What the customer says. With --resume: the other words that the case waits for.", show_default=False
        ),
    ] = None,
    *,
    model: Annotated[
        Model | None, typer.Option(help="Who decides: a model in this process, you, or a script. [default: local]")
    ] = None,
    order_amount: Annotated[float | None, typer.Option(min=0, help="What the order cost. [default: 49.90]")] = None,
    charges: Annotated[int | None, typer.Option(min=0, help="How often the order was charged. [default: 2]")] = None,
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
        str | None,
        typer.Option(metavar="approve|change|reject", help="What the person says to the proposal, for scripts."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stop where a person is waited for, and save the case.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Go on with a saved case.")] = None,
) -> None:
    """A shop's support desk: a model sorts the request among the legal moves, a person approves, then it happens."""
    options = Options(
        text=text,
        model=model,
        order_amount=order_amount,
        charges=charges,
        shipped=shipped,
        pretend=pretend,
        answer=answer,
        save=save,
        resume=resume,
    )
    try:
        support(options, Screen(Console(highlight=False)))
    except (InterlockError, CommandError) as error:
        _stop(str(error), 2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            print()
        _stop("stopped; nothing was saved", 130)


def _stop(message: str, status: int) -> None:
    line = " ".join(message.split())
    print(f"interlock: {line}", file=sys.stderr)
    raise typer.Exit(status)
