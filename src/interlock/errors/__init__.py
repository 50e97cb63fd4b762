"""Every public exception of the library.

The tree, and who should catch what::

    InterlockError                     anything that this library raises on purpose
    |- DefinitionError                 a machine that cannot be built: mend the definition
    |- StepError                       a step that could not be computed; the snapshot passed in is unchanged
    |  |- HandlerError                 the author's function raised
    |  |- InvalidMoveError             the author's function returned something that the machine refuses
    |  |- EndlessLoopError             eventless transitions or raised events that never come to rest
    |  `- MissingTimeError             the step schedules a timer and nobody said what time it is
    |- InputError                      what was sent is not an event, or goes to nobody
    |- SnapshotError                   saved data that this machine cannot go on from
    |- NotJsonError                    a value that JSON would drop or change
    |- DecisionExhaustedError          a model that chose nothing legal in all its tries: handle it with on_error
    |- NoLegalEventsError              a decision with nothing to pick, so no model was asked
    |- CallResultError                 a called function returned something else than it is annotated with
    |- InvalidMessagesError            data that is no list of messages: what is wrong, with its place
    |- TextError                       a model's answer to a text request that cannot be used
    |  |- TruncatedError               it was cut off at the token limit
    |  |- RefusedError                 the model, or a filter, will not answer
    |  |- InvalidOutputError           it does not fit what was asked for
    |  `- StepLimitError               the model still calls tools on its last turn
    |- BindError                       a run that cannot start: mend what it was given
    |- AbortedError                    a run that its host has ended; found in its Failed, never raised
    |- ExecutorError                   an executor that answered something else than its contract says
    |- ModelCallLimitError             a model call over the run's limit, which was not made
    |- JournalError                    what goes wrong with logs and stores; what was stored before is as it was
    |  |- LogConflictError             somebody else has written to the thread meanwhile: read it again
    |  |- StoreError                   a store that could not do what it was asked
    |  |- InvalidLogError              data that is no log
    |  |- LogVersionError              a log of another version of the machine: migrate, or keep that version
    |  |- ReplayDivergedError          replaying leads to another state than the log says
    |  |- ReplayFailedError            one of the machine's functions raised in the middle of a replay
    |  `- SnapshotDivergedError        a snapshot that is not where the thread's log leads to
    |- MachineFailedError              a machine that a durable host ran, and that has failed
    |- HostError                       a durable host that was asked about what is not there, or not so
    |- MissingExtraError               an optional package that is not there: install the extra
    |- ProviderError                   a model's provider that refused, failed or broke off: try again, or elsewhere
    |- UnsupportedRequestError         a request that the model's provider has no form for; it was not sent
    |- WeightsError                    the weights of a local model, which are not there and cannot be fetched
    |- UnknownPriceError               models whose price nobody knows: say what their names stand for
    |- UncertainChoiceError            a chooser that will not guess: give the machine a way out
    `- ScriptExhaustedError            a scripted executor that was asked more often than its script goes

Each class (or, where a class has several, each instance) carries a stable kebab-case ``code``: branch on
that, never on the message. A message names the machine, the state and the event, shows what was given and
says what to do.
"""

from interlock.errors.agents import (
    CallResultError,
    DecisionExhaustedError,
    InvalidMessagesError,
    InvalidOutputError,
    NoLegalEventsError,
    RefusedError,
    StepLimitError,
    TextError,
    TruncatedError,
)
from interlock.errors.base import ErrorInfo, InterlockError, did_you_mean
from interlock.errors.catalogue import CATALOGUE, Entry
from interlock.errors.engine import (
    DefinitionError,
    EndlessLoopError,
    HandlerError,
    InputError,
    InvalidMoveError,
    MissingTimeError,
    NotJsonError,
    SnapshotError,
    StepError,
)
from interlock.errors.hosts import HostError, MachineFailedError
from interlock.errors.journal import (
    InvalidLogError,
    JournalError,
    LogConflictError,
    LogVersionError,
    ReplayDivergedError,
    ReplayFailedError,
    SnapshotDivergedError,
    StoreError,
)
from interlock.errors.models import (
    MissingExtraError,
    ProviderError,
    UncertainChoiceError,
    UnknownPriceError,
    UnsupportedRequestError,
    WeightsError,
)
from interlock.errors.runs import AbortedError, BindError, ExecutorError, ModelCallLimitError, ScriptExhaustedError

__all__ = [
    "CATALOGUE",
    "AbortedError",
    "BindError",
    "CallResultError",
    "DecisionExhaustedError",
    "DefinitionError",
    "EndlessLoopError",
    "Entry",
    "ErrorInfo",
    "ExecutorError",
    "HandlerError",
    "HostError",
    "InputError",
    "InterlockError",
    "InvalidLogError",
    "InvalidMessagesError",
    "InvalidMoveError",
    "InvalidOutputError",
    "JournalError",
    "LogConflictError",
    "LogVersionError",
    "MachineFailedError",
    "MissingExtraError",
    "MissingTimeError",
    "ModelCallLimitError",
    "NoLegalEventsError",
    "NotJsonError",
    "ProviderError",
    "RefusedError",
    "ReplayDivergedError",
    "ReplayFailedError",
    "ScriptExhaustedError",
    "SnapshotDivergedError",
    "SnapshotError",
    "StepError",
    "StepLimitError",
    "StoreError",
    "TextError",
    "TruncatedError",
    "UncertainChoiceError",
    "UnknownPriceError",
    "UnsupportedRequestError",
    "WeightsError",
    "did_you_mean",
]
