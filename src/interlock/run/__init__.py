"""Running machines: the one driver, the ways to use it, their results and their clock. See ``driver.py`` first."""

from interlock.run.abort import Abort
from interlock.run.agent_run import run_agent, run_agent_sync
from interlock.run.agent_stream import AgentStream, stream_agent
from interlock.run.attempts import get_decision_attempts
from interlock.run.clock import Clock, SystemClock
from interlock.run.driver import Driver, Timers
from interlock.run.machine_tool import MachineTool, machine_tool
from interlock.run.observers import Committed
from interlock.run.options import Decisions, RunOptions
from interlock.run.origin import Origin
from interlock.run.resolve import resolve_decision
from interlock.run.results import Cause, Done, Failed, Idle, Result
from interlock.run.retrofit import RetrofitRequest, run_with_requests
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
from interlock.run.tool_scope import ToolScope, tool_scope
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
    "Decisions",
    "Done",
    "Driver",
    "EventEmitted",
    "EventIgnored",
    "Failed",
    "Idle",
    "MachineTool",
    "Origin",
    "RequestCancelled",
    "RequestEnded",
    "RequestFailed",
    "RequestStarted",
    "Result",
    "RetrofitRequest",
    "RunEnded",
    "RunOptions",
    "RunStarted",
    "RunUsage",
    "StepPicked",
    "Subscription",
    "SystemClock",
    "Timers",
    "ToolAnswered",
    "ToolScope",
    "TraceEvent",
    "Transition",
    "TurnTaken",
    "execute_agent_request",
    "get_agent_requests",
    "get_decision_attempts",
    "get_usage",
    "initial_agent_step",
    "machine_tool",
    "reject_agent_step",
    "resolve_agent_requests",
    "resolve_agent_step",
    "resolve_decision",
    "run_agent",
    "run_agent_sync",
    "run_with_requests",
    "stream_agent",
    "tool_scope",
    "transition_agent_step",
]
