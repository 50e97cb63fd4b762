"""Test doubles that are part of the product: executors that follow a script, and a clock that a test moves."""

from interlock.testing.clock import FakeClock
from interlock.testing.scripted import Answer, ScriptedDecision, ScriptedExecutors, ScriptedText, Written

__all__ = ["Answer", "FakeClock", "ScriptedDecision", "ScriptedExecutors", "ScriptedText", "Written"]
