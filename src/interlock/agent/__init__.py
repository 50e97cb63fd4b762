"""What makes a chart an agent, still pure: events, the words of a machine, requests, decisions, legality.

``setup_agent`` in ``setup.py`` is where an author begins, ``contract.py`` is what a host provides.
"""

from interlock.agent.authoring import Agent
from interlock.agent.calls import CallSpec
from interlock.agent.contract import Choice, DecideExecutor, ExecutorInfo, Executors, Usage
from interlock.agent.decide import DecideSpec
from interlock.agent.decisions import (
    checked_choice,
    decision_request,
    delivery,
    judge,
    moved_on,
    renewed_request,
)
from interlock.agent.descriptors import EventDescriptor, describe
from interlock.agent.events import Event
from interlock.agent.legality import candidates
from interlock.agent.reading import parse_event
from interlock.agent.requests import DecisionAttempt, DecisionRequest
from interlock.agent.setup import mapping, setup_agent

__all__ = [
    "Agent",
    "CallSpec",
    "Choice",
    "DecideExecutor",
    "DecideSpec",
    "DecisionAttempt",
    "DecisionRequest",
    "Event",
    "EventDescriptor",
    "ExecutorInfo",
    "Executors",
    "Usage",
    "candidates",
    "checked_choice",
    "decision_request",
    "delivery",
    "describe",
    "judge",
    "mapping",
    "moved_on",
    "parse_event",
    "renewed_request",
    "setup_agent",
]
