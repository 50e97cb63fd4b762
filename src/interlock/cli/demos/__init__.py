"""Agents to try: each is one machine, written as anyone would write theirs."""

__all__: list[str] = []
