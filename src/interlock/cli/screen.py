"""What a person sees: boxes, marks, bars and arrows. Nothing is decided here."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from interlock.cli.saves import Step

__all__ = ["Row", "Screen"]

BAR = 16
"""Characters of a full bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One event that a model may pick in general: what it is for, and what stands against it now, if anything does."""

    event: str
    about: str
    obstacle: str | None


@dataclass(frozen=True, slots=True)
class _Marks:
    yes: str
    no: str
    arrow: str
    full: str
    dash: str
    dot: str


_FINE = _Marks(yes="✓", no="✗", arrow="→", full="█", dash="─", dot="·")
_PLAIN = _Marks(yes="+", no="x", arrow="->", full="#", dash="-", dot="|")


class Screen:
    """Prints to one console; colours and width are the console's business (NO_COLOR, COLUMNS)."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._marks = _FINE if console.encoding.lower().startswith("utf") else _PLAIN

    @property
    def interactive(self) -> bool:
        """Whether somebody sits there who can be asked."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def title(self, text: str, facts: Sequence[str]) -> None:
        """Open the case: what the customer said, and what is known about the order."""
        words = Text(f'"{_clean(text)}"', style="bold")
        known = Text(f" {self._marks.dot} ".join(facts), style="dim")
        self._box(Group(words, known), title="interlock demo: support desk", style="cyan")

    def moves(
        self, rows: Sequence[Row], *, weights: Mapping[str, float], chosen: str | None = None, numbered: bool = False
    ) -> None:
        """Show every move: the legal ones with their weights, the others with what stands against them."""
        table = Table.grid(padding=(0, 1))
        if numbered:
            table.add_column(justify="right")
        table.add_column()
        table.add_column(no_wrap=True)
        table.add_column(ratio=1)
        for number, row in enumerate(rows, 1):
            legal = row.obstacle is None
            style = ("bold green" if row.event == chosen else "green") if legal else "dim"
            cells: list[RenderableType] = [Text(str(number), style="bold")] if numbered else []
            cells += [
                Text(self._marks.yes, style="green") if legal else Text(self._marks.no, style="red"),
                Text(row.event, style=style),
                self._beside(row, weights),
            ]
            table.add_row(*cells)
        legal_now = sum(row.obstacle is None for row in rows)
        self._box(table, title=f"triage: {legal_now} of {len(rows)} moves are legal", style="blue")

    def _beside(self, row: Row, weights: Mapping[str, float]) -> Text:
        if row.obstacle is not None:
            return Text(f"not legal: {row.obstacle}", style="dim red")
        if row.event not in weights:
            return Text(row.about, style="dim")
        weight = min(max(weights[row.event], 0.0), 1.0)
        bar = self._marks.full * round(weight * BAR)
        return Text.assemble((bar.ljust(BAR), "cyan"), f" {_percent(weight):>5}")

    def refused(self, event: str, failure: str, reason: str) -> None:
        """Tell of a choice that the machine did not take."""
        told = Text.assemble(
            (_clean(event), "bold red"), (f" was picked and refused ({failure}): ", "red"), _clean(reason)
        )
        self._line(Text(self._marks.no, style="red"), told)

    def taken(self, event: str, reason: str | None) -> None:
        """Tell of a choice that the machine has taken."""
        told = Text.assemble((event, "bold green"), " was chosen" + (f": {_clean(reason)}" if reason else ""))
        self._line(Text(self._marks.yes, style="green"), told)

    def said(self, event: str, words: str) -> None:
        """Tell what a person has answered."""
        told = Text.assemble("a person says ", (event, "bold yellow"), f': "{_clean(words)}"' if words else "")
        self._line(Text(self._marks.arrow, style="yellow"), told)

    def waits(self, state: str, lines: Sequence[str]) -> None:
        """Show what is proposed to a person."""
        self._box(
            Text("\n".join(_clean(line) for line in lines)), title=f"{state}: a person is waited for", style="yellow"
        )

    def ended(self, state: str, message: str) -> None:
        """Show how it ended."""
        self._box(Text(_clean(message), style="bold"), title=state, style="green")

    def path(self, steps: Sequence[Step]) -> None:
        """Show the way from state to state, each arrow with the event that led on."""
        way = Text("path  ", style="dim")
        for number, step in enumerate(steps):
            if number:
                via = (
                    f" {self._marks.dash}{step.via}{self._marks.dash}{self._marks.arrow} "
                    if step.via
                    else f" {self._marks.arrow} "
                )
                way.append(_clean(via), style="dim")
            way.append(_clean(step.state), style="bold")
        self._line(Text(" "), way)

    def note(self, line: str) -> None:
        """Say something beside the matter."""
        self._line(Text(" "), Text(_clean(line), style="dim"))

    def hint(self, line: str, commands: Sequence[str] = ()) -> None:
        """Say what can be done next; commands stand alone on their lines, unbroken, to be copied."""
        self.console.print()
        self._line(Text(" "), Text(_clean(line)))
        for command in commands:
            self.console.print(Text(f"   {command}", style="bold cyan"), soft_wrap=True)

    def ask(self, question: str) -> str:
        """Return what is typed; raises EOFError where nothing more can come."""
        return self.console.input(Text(f" {question} ", style="bold")).strip()

    def _line(self, mark: Text, text: Text) -> None:
        """Print a line whose mark stands out on the left, however often it has to be broken."""
        for number, line in enumerate(text.wrap(self.console, max(self._width - 4, 8))):
            line.rstrip()
            self.console.print(Text.assemble(" ", mark if number == 0 else " " * len(mark), " ", line), soft_wrap=True)

    def _box(self, content: RenderableType, *, title: str, style: str) -> None:
        heading = Text(title, style=f"bold {style}")
        shape = box.ROUNDED if self._marks is _FINE else box.ASCII
        self.console.print(
            Panel(
                content,
                title=heading,
                title_align="left",
                border_style=style,
                box=shape,
                padding=(0, 1),
                width=self._width,
            )
        )

    @property
    def _width(self) -> int:
        return min(self.console.width, 92)


def _percent(weight: float) -> str:
    """Return a share as people read it; what is not quite all or nothing does not look so."""
    if weight < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= weight < 1 else f"{weight:.0%}".replace("%", " %")


def _clean(text: str) -> str:
    """Return a text that can only be read: nothing in it moves the cursor or colours the terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
