"""Running machines: the one driver, the ways to use it, their results and their clock. See ``driver.py`` first."""

from interlock.run.abort import Abort
from interlock.run.agent_run import run_agent, run_agent_sync
from interlock.run.agent_stream import AgentStream, stream_agent
from interlock.run.clock import Clock, SystemClock
from interlock.run.driver import Driver, Timers
from interlock.run.observers import Committed
from interlock.run.options import RunOptions
from interlock.run.origin import Origin
from interlock.run.resolve import resolve_decision
from interlock.run.results import Cause, Done, Failed, Idle, Result
from interlock.run.session import AgentSession
from interlock.run.step_calls import execute_agent_request, resolve_agent_requests
from interlock.run.steps import (
    AgentRequest,
    AgentStep,
    get_agent_requests,
    initial_agent_step,
    reject_agent_step,
    resolve_agent_step,
    transition_agent_step,
)
from interlock.run.subscription import Subscription
from interlock.run.traces import (
    TRACE_VERSION,
    AtRest,
    ChoiceRefused,
    Chunk,
    EventEmitted,
    EventIgnored,
    RequestCancelled,
    RequestEnded,
    RequestFailed,
    RequestStarted,
    RunEnded,
    RunStarted,
    StepPicked,
    ToolAnswered,
    TraceEvent,
    Transition,
    TurnTaken,
)
from interlock.run.usage import RunUsage, get_usage

__all__ = [
    "TRACE_VERSION",
    "Abort",
    "AgentRequest",
    "AgentSession",
    "AgentStep",
    "AgentStream",
    "AtRest",
    "Cause",
    "ChoiceRefused",
    "Chunk",
    "Clock",
    "Committed",
    "Done",
    "Driver",
    "EventEmitted",
    "EventIgnored",
    "Failed",
    "Idle",
    "Origin",
    "RequestCancelled",
    "RequestEnded",
    "RequestFailed",
    "RequestStarted",
    "Result",
    "RunEnded",
    "RunOptions",
    "RunStarted",
    "RunUsage",
    "StepPicked",
    "Subscription",
    "SystemClock",
    "Timers",
    "ToolAnswered",
    "TraceEvent",
    "Transition",
    "TurnTaken",
    "execute_agent_request",
    "get_agent_requests",
    "get_usage",
    "initial_agent_step",
    "reject_agent_step",
    "resolve_agent_requests",
    "resolve_agent_step",
    "resolve_decision",
    "run_agent",
    "run_agent_sync",
    "stream_agent",
    "transition_agent_step",
]
