"""The figures as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from measure import KEYS

TARGETS = {
    "toggle_us": 0.6,
    "nested_us": 2.0,
    "nested_pydantic_us": 2.5,
    "parallel_us": 0.6,
    "parallel_handlers_us": 2.5,
    "independent_us": 5.0,
    "busy_us": 6.0,
    "flat1000_build_ms": 15.0,
    "initial_us": 0.5,
    "snapshot_kb": 0.4,
    "busy_snapshot_kb": 1.0,
}
"""What we aim at, on a machine where XState v6 takes 7 to 11 microseconds for the toggle."""

FLAT1000_TARGET = 1.2
"""flat1000_us may be at most so many times toggle_us: the cost does not grow with the machine."""


def table(figures: Mapping[str, Any]) -> str:
    """Lines of text: our figure, its target, its distance to the floor, and every peer with its ratio to ours."""
    peers: Mapping[str, Mapping[str, Any]] = figures["peers"]
    rows = [["", "interlock", "target", "x floor", *peers]]
    rows.extend(_row(key, figures, peers) for key in KEYS)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [_line(row, widths) for row in rows]
    failed = [f"{name}: {peer['error']}" for name, peer in peers.items() if "error" in peer]
    return "\n".join([*lines, "", *failed, figures["about"]["method"]])


def markdown(figures: Mapping[str, Any]) -> str:
    """The same as a table for a page: our figure, and every peer's."""
    peers: Mapping[str, Mapping[str, Any]] = figures["peers"]
    head = ["", "interlock", *peers]
    rows = [
        [f"`{key}`", f"**{_number(figures[key])}**", *(_number(peer.get(key)) or "-" for peer in peers.values())]
        for key in KEYS
    ]
    lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] + ["--:"] * (len(head) - 1), *rows]]
    about = figures["about"]
    return "\n".join([*lines, "", f"{about['method']} {about.get('machine', '')}".strip()])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    key, *cells = row
    aligned = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
    return "  ".join([f"{key:{widths[0]}}", *aligned]).rstrip()


def _row(key: str, figures: Mapping[str, Any], peers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    ours = figures[key]
    target = TARGETS.get(key)
    if key == "flat1000_us":
        target = FLAT1000_TARGET * figures["toggle_us"]
    floor = figures["floor_us"]
    comparable = key.endswith("_us") and key != "floor_us"
    return [
        key,
        _number(ours),
        _number(target),
        f"{ours / floor:.1f}" if comparable else "",
        *(_against(peer.get(key), ours) for peer in peers.values()),
    ]


def _against(theirs: float | None, ours: float) -> str:
    return "-" if theirs is None else f"{_number(theirs)} ({theirs / ours:.1f}x)"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
