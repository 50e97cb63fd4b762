"""AI agents that can only make legal moves: an agent is a typed statechart, and a model picks among its events."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.agent import (
        Agent,
        Choice,
        DecideExecutor,
        DecisionAttempt,
        DecisionRequest,
        Event,
        ExecutorInfo,
        Executors,
        Usage,
        mapping,
        parse_event,
        setup_agent,
    )
    from interlock.errors import (
        BindError,
        CallResultError,
        DecisionExhaustedError,
        DefinitionError,
        EndlessLoopError,
        ErrorInfo,
        ExecutorError,
        HandlerError,
        InputError,
        InterlockError,
        InvalidMoveError,
        MissingExtraError,
        MissingTimeError,
        ModelCallLimitError,
        NoLegalEventsError,
        NotJsonError,
        ScriptExhaustedError,
        SnapshotError,
        StepError,
        UncertainChoiceError,
    )
    from interlock.run import (
        Clock,
        Done,
        Failed,
        Idle,
        Result,
        RunUsage,
        SystemClock,
        resolve_decision,
        run_agent,
        run_agent_sync,
    )
    from interlock.statechart import FrozenDict, Machine, Move, Snapshot
    from interlock.testing import FakeClock, ScriptedExecutors

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "BindError",
    "CallResultError",
    "Choice",
    "Clock",
    "DecideExecutor",
    "DecisionAttempt",
    "DecisionExhaustedError",
    "DecisionRequest",
    "DefinitionError",
    "Done",
    "EndlessLoopError",
    "ErrorInfo",
    "Event",
    "ExecutorError",
    "ExecutorInfo",
    "Executors",
    "Failed",
    "FakeClock",
    "FrozenDict",
    "HandlerError",
    "Idle",
    "InputError",
    "InterlockError",
    "InvalidMoveError",
    "Machine",
    "MissingExtraError",
    "MissingTimeError",
    "ModelCallLimitError",
    "Move",
    "NoLegalEventsError",
    "NotJsonError",
    "Result",
    "RunUsage",
    "ScriptExhaustedError",
    "ScriptedExecutors",
    "Snapshot",
    "SnapshotError",
    "StepError",
    "SystemClock",
    "UncertainChoiceError",
    "Usage",
    "__version__",
    "mapping",
    "parse_event",
    "resolve_decision",
    "run_agent",
    "run_agent_sync",
    "setup_agent",
]

if not TYPE_CHECKING:  # a type checker reads the imports above, and so knows which names there are not
    # On first use: who imports one room, or only asks for the version, does not pay for the others.
    _ROOMS = ("errors", "agent", "statechart", "run", "testing")

    def __getattr__(name: str) -> object:
        if name in __all__:
            for room in _ROOMS:
                module = import_module(f"interlock.{room}")
                if name in module.__all__:
                    value = globals()[name] = getattr(module, name)
                    return value
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
