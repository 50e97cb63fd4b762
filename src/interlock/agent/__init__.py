"""What makes a chart an agent, still pure: events, the words of a machine, requests, decisions, legality.

``setup_agent`` in ``setup.py`` is where an author begins, ``contract.py`` is what a host provides.
"""

from interlock.agent.authoring import Agent
from interlock.agent.calls import CallSpec
from interlock.agent.contract import (
    AbortScope,
    Choice,
    DecideExecutor,
    ExecutorInfo,
    Executors,
    FinishReason,
    StreamExecutor,
    TextExecutor,
    TextResult,
    ToolCall,
    Usage,
)
from interlock.agent.decide import DecideSpec
from interlock.agent.decisions import checked_choice, decision_request, delivery, judge, moved_on, renewed_request
from interlock.agent.descriptors import EventDescriptor, describe
from interlock.agent.envelope import parse_provider_output, provider_output_schema
from interlock.agent.events import Event
from interlock.agent.interactions import Interaction, InteractionChoice, event_from_interaction, get_interaction
from interlock.agent.legality import candidates
from interlock.agent.message_helpers import (
    assistant_message,
    get_message_text,
    system_message,
    tool_message,
    user_message,
)
from interlock.agent.messages import (
    AgentMessage,
    AssistantMessage,
    AssistantPart,
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    MediaData,
    Part,
    ProviderOptions,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultOutput,
    ToolResultPart,
    UserMessage,
    UserPart,
)
from interlock.agent.messages_schema import MessagesSchema, messages_schema
from interlock.agent.model_refs import ModelRef, parse_model_ref
from interlock.agent.plan import PLAN_DONE, PlanResult
from interlock.agent.reading import parse_event
from interlock.agent.rendering import render_decision_attempts, render_plan_trail
from interlock.agent.reports import ChildDone, ChildFailed
from interlock.agent.requests import DecisionAttempt, DecisionRequest, PlanRequest
from interlock.agent.setup import mapping, setup_agent
from interlock.agent.text import TextRequestDefinition, TextSpec, text_request
from interlock.agent.text_requests import TextMode, TextRequest, ToolDescriptor, request_messages
from interlock.agent.tool_requests import ToolRequest
from interlock.agent.tools import Tool, bound_call, tool, tool_failure
from interlock.agent.transcript import TranscriptFault, TranscriptProblem, check_transcript
from interlock.agent.turns import (
    AnswerRecord,
    Ledger,
    TextTask,
    TurnRecord,
    answer_record,
    checked_result,
    final_output,
    read_ledger,
    step_limit,
    text_task,
    turn_record,
)
from interlock.agent.usage import CallUsage
from interlock.agent.user_input import UserInputRequest

__all__ = [
    "PLAN_DONE",
    "AbortScope",
    "Agent",
    "AgentMessage",
    "AnswerRecord",
    "AssistantMessage",
    "AssistantPart",
    "CallSpec",
    "CallUsage",
    "ChildDone",
    "ChildFailed",
    "Choice",
    "ContentOutput",
    "DecideExecutor",
    "DecideSpec",
    "DecisionAttempt",
    "DecisionRequest",
    "ErrorJsonOutput",
    "ErrorTextOutput",
    "Event",
    "EventDescriptor",
    "ExecutorInfo",
    "Executors",
    "FilePart",
    "FinishReason",
    "ImagePart",
    "Interaction",
    "InteractionChoice",
    "JsonOutput",
    "Ledger",
    "MediaData",
    "MessagesSchema",
    "ModelRef",
    "Part",
    "PlanRequest",
    "PlanResult",
    "ProviderOptions",
    "StreamExecutor",
    "SystemMessage",
    "TextExecutor",
    "TextMode",
    "TextOutput",
    "TextPart",
    "TextRequest",
    "TextRequestDefinition",
    "TextResult",
    "TextSpec",
    "TextTask",
    "Tool",
    "ToolCall",
    "ToolCallPart",
    "ToolDescriptor",
    "ToolMessage",
    "ToolRequest",
    "ToolResultOutput",
    "ToolResultPart",
    "TranscriptFault",
    "TranscriptProblem",
    "TurnRecord",
    "Usage",
    "UserInputRequest",
    "UserMessage",
    "UserPart",
    "answer_record",
    "assistant_message",
    "bound_call",
    "candidates",
    "check_transcript",
    "checked_choice",
    "checked_result",
    "decision_request",
    "delivery",
    "describe",
    "event_from_interaction",
    "final_output",
    "get_interaction",
    "get_message_text",
    "judge",
    "mapping",
    "messages_schema",
    "moved_on",
    "parse_event",
    "parse_model_ref",
    "parse_provider_output",
    "provider_output_schema",
    "read_ledger",
    "render_decision_attempts",
    "render_plan_trail",
    "renewed_request",
    "request_messages",
    "setup_agent",
    "step_limit",
    "system_message",
    "text_request",
    "text_task",
    "tool",
    "tool_failure",
    "tool_message",
    "turn_record",
    "user_message",
]
