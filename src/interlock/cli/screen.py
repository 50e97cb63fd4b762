"""What a person sees: boxes, marks, bars and arrows. Nothing is decided here."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from interlock.cli.output import Output
from interlock.cli.saves import Step
from interlock.cli.words import clean

__all__ = ["Row", "Screen"]

BAR = 16
"""Characters of a full bar."""

LONGEST_WAY = 24
"""Steps of a path that are shown; of a longer one, the last."""

_INDENT = 3


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

    def __init__(self, console: Console, output: Output) -> None:
        self.console = console
        self.output = output
        """Where the console prints to."""
        self.kept: Path | None = None
        """Where the case that is seen was last saved."""
        self._marks = _FINE if console.encoding.lower().startswith("utf") else _PLAIN
        self._column = 0
        """How far the line of a text has come that is being written."""
        self._word = ""
        """The word of it that may not be whole."""
        self._gap = ""
        """The space before it."""

    @property
    def interactive(self) -> bool:
        """Whether somebody sits there who can be asked."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def title(self, heading: str, text: str, facts: Sequence[str]) -> None:
        """Open the case: what it is about, and what is known."""
        words = Text(clean(text), style="bold")
        known = Text(clean(f" {self._marks.dot} ".join(facts)), style="dim")
        self._box(Group(words, known) if facts else words, title=heading, style="cyan")

    def moves(
        self,
        state: str,
        rows: Sequence[Row],
        *,
        weights: Mapping[str, float],
        chosen: str | None = None,
        numbered: bool = False,
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
                Text(clean(row.event), style=style),
                self._beside(row, weights),
            ]
            table.add_row(*cells)
        legal_now = sum(row.obstacle is None for row in rows)
        self._box(table, title=f"{state}: {legal_now} of {len(rows)} moves are legal", style="blue")

    def _beside(self, row: Row, weights: Mapping[str, float]) -> Text:
        if row.obstacle is not None:
            return Text(clean(f"not legal: {row.obstacle}"), style="dim red")
        if row.event not in weights:
            return Text(clean(row.about), style="dim")
        weight = min(max(weights[row.event], 0.0), 1.0)
        bar = self._marks.full * round(weight * BAR)
        return Text.assemble((bar.ljust(BAR), "cyan"), f" {_percent(weight):>5}")

    def refused(self, event: str, failure: str, reason: str) -> None:
        """Tell of a choice that the machine did not take."""
        told = Text.assemble(
            (clean(event), "bold red"), (f" was picked and refused ({failure}): ", "red"), clean(reason)
        )
        self._line(Text(self._marks.no, style="red"), told)

    def taken(self, event: str, words: str, reason: str | None) -> None:
        """Tell of a choice that the machine has taken; ``words`` are what the event says."""
        told = Text.assemble(
            (clean(event), "bold green"),
            f" {clean(words)}" if words else "",
            " was chosen" + (f": {clean(reason)}" if reason else ""),
        )
        self._line(Text(self._marks.yes, style="green"), told)

    def said(self, event: str, words: str) -> None:
        """Tell what a person has answered."""
        told = Text.assemble("a person says ", (clean(event), "bold yellow"), f": {clean(words)}" if words else "")
        self._line(Text(self._marks.arrow, style="yellow"), told)

    def emitted(self, event: str, words: str) -> None:
        """Tell what the machine has emitted."""
        told = Text.assemble("emitted ", (clean(event), "bold cyan"), f": {clean(words)}" if words else "")
        self._line(Text(self._marks.dot, style="cyan"), told)

    def writes(self, name: str, by: str) -> None:
        """Announce a text that is being written."""
        self.ends_text()
        told = Text.assemble("writing ", (clean(name), "bold magenta"), f", by {clean(by)}" if by else "")
        self._line(Text(self._marks.dot, style="magenta"), told)

    def text(self, piece: str) -> None:
        """Show a piece of a text as it comes, word by word, so that lines break between words."""
        *words, self._word = re.split(r"(\s)", self._word + clean(piece))
        for word in words:
            self._show(word)

    def ends_text(self) -> None:
        """End the text that was being shown, if there was one."""
        word, self._word = self._word, ""
        self._show(word)
        if self._column:
            self._put("\n")
            self._column, self._gap = 0, ""

    def _show(self, word: str) -> None:
        if word == "\n":
            self._put("\n")
            self._column, self._gap = 0, ""
        elif word.isspace():
            self._gap = " " if self._column else ""
        elif word:
            if self._column + len(self._gap + word) > self._width - 1:
                self._put("\n")
                self._column = 0
            shown = (self._gap if self._column else " " * _INDENT) + word
            self._put(shown)
            self._column, self._gap = self._column + len(shown), ""

    def _put(self, text: str) -> None:
        self.console.print(Text(text, style="magenta"), end="", soft_wrap=True)
        self.console.file.flush()

    def waits(self, state: str, lines: Sequence[str]) -> None:
        """Show what is proposed to a person."""
        self._box(
            Text("\n".join(clean(line) for line in lines)), title=f"{state}: a person is waited for", style="yellow"
        )

    def ended(self, state: str, message: str) -> None:
        """Show how it ended."""
        self._box(Text(clean(message), style="bold"), title=clean(state), style="green")

    def path(self, steps: Sequence[Step]) -> None:
        """Show the way from state to state, each arrow with the event that led on."""
        way = Text("path  ", style="dim")
        shown = steps[-LONGEST_WAY:]
        if len(shown) < len(steps):
            way.append(f"({len(steps) - len(shown)} steps) ... ", style="dim")
        for number, step in enumerate(shown):
            if number or len(shown) < len(steps):
                via = (
                    f" {self._marks.dash}{step.via}{self._marks.dash}{self._marks.arrow} "
                    if step.via
                    else f" {self._marks.arrow} "
                )
                way.append(clean(via), style="dim")
            way.append(clean(step.state), style="bold")
        self._line(Text(" "), way)

    def note(self, line: str) -> None:
        """Say something beside the matter."""
        self._line(Text(" "), Text(clean(line), style="dim"))

    def hint(self, line: str, commands: Sequence[str] = ()) -> None:
        """Say what can be done next; commands stand alone on their lines, unbroken, to be copied."""
        self.console.print()
        self._line(Text(" "), Text(clean(line)))
        for command in commands:
            self.console.print(Text(f"   {command}", style="bold cyan"), soft_wrap=True)

    def ask(self, question: str) -> str:
        """Return what is typed; raises EOFError where nothing more can come."""
        self.ends_text()
        return self.console.input(Text(f" {clean(question)} ", style="bold")).strip()

    def _line(self, mark: Text, text: Text) -> None:
        """Print a line whose mark stands out on the left, however often it has to be broken."""
        self.ends_text()
        for number, line in enumerate(text.wrap(self.console, max(self._width - 4, 8))):
            line.rstrip()
            self.console.print(Text.assemble(" ", mark if number == 0 else " " * len(mark), " ", line), soft_wrap=True)

    def _box(self, content: RenderableType, *, title: str, style: str) -> None:
        self.ends_text()
        heading = Text(clean(title), style=f"bold {style}")
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
