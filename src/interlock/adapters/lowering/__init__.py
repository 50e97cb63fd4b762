"""From requests to what providers take, and from their answers back: everything about it that needs no provider.

``text_form`` and ``decision_form`` say how a request is asked and read its answer; both know the form of Chat
Completions, which most endpoints share. Beneath them each trap has a page: schemas, names, arguments, messages, media.
"""

from interlock.adapters.lowering.chat import chat_messages
from interlock.adapters.lowering.completions import Assembly, Completion, read_completion
from interlock.adapters.lowering.decision_form import DecideBy, DecisionForm, decision_form
from interlock.adapters.lowering.text_form import TextForm, text_form
from interlock.agent.rendering import render_decision_attempts, render_plan_trail

__all__ = [
    "Assembly",
    "Completion",
    "DecideBy",
    "DecisionForm",
    "TextForm",
    "chat_messages",
    "decision_form",
    "read_completion",
    "render_decision_attempts",
    "render_plan_trail",
    "text_form",
]
