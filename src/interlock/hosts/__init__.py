"""Durable hosts: engines that carry a machine over crashes and waits. See ``durable.py`` first.

Each engine is an extra of its own and is imported where it is used: ``from interlock.hosts.dbos import DBOSHost``.
"""

from interlock.hosts.durable import Call, Durable, Recorded, Woken
from interlock.hosts.loop import run_durably
from interlock.hosts.standing import Standing

__all__ = ["Call", "Durable", "Recorded", "Standing", "Woken", "run_durably"]
