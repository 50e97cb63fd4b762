"""Every code that an error of this library can carry: what has happened, and what to do.

The documentation's page of errors is made from this table, and a test compares the table with the code.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CATALOGUE", "Entry"]


class Entry(NamedTuple):
    """One code."""

    cause: str
    remedy: str


CATALOGUE: dict[str, Entry] = {
    # -- when a machine is built
    "unknown-target": Entry(
        "A transition leads to a state that does not exist.",
        "Mend the name; the message lists the near misses. A sibling is `key`, a child `.key`, any state `#id`.",
    ),
    "invalid-target": Entry(
        "A target is no text, a list of targets is empty, or targets exclude each other.",
        "Name one target, or several in different regions of a parallel state.",
    ),
    "unknown-source": Entry(
        "`invoke`, `spawn` or `provide` names a source that the machine does not have.",
        "Mend the name, or declare the source.",
    ),
    "unknown-delay": Entry(
        "A delay is named that is not among the machine's `delays`.", "Mend the name, or give seconds."
    ),
    "unknown-event": Entry(
        "An event type, class or pattern is used that is not among the agent's events.",
        "Add the class to `setup_agent(events=[...])`, or mend the name.",
    ),
    "unknown-model": Entry(
        "A model is named that is not among the aliases of `setup_agent(models=...)`.", "Mend the alias, or add it."
    ),
    "unknown-tool": Entry(
        "A tool is named that was not registered, or that no model is ever offered.",
        "Register it with `setup_agent(tools={...})`, or mend the name.",
    ),
    "unknown-keyword": Entry(
        "A keyword is given that the slot does not have.", "Mend the name; the message lists the near misses."
    ),
    "invalid-delay": Entry(
        "A delay is negative, endless or no number.",
        "Give 0 or more seconds, a `timedelta`, or the name of a declared delay.",
    ),
    "invalid-descriptor": Entry(
        "An event pattern is malformed.", "A `*` stands alone, or at the end after a dot, as in `todo.*`."
    ),
    "invalid-key": Entry(
        "A state's key, an id or a name is empty, no text, or holds what paths are made with or cannot be saved.",
        "Leave out `.`, `#`, `/`, a leading `@` and lone surrogates.",
    ),
    "invalid-state": Entry(
        "The parts of a state do not go together.",
        "The message says which; for example `timeout=` needs `on_timeout=`.",
    ),
    "invalid-transition": Entry(
        "Something that is no transition stands where one belongs, or a transition can only loop.",
        "Give a target, a handler or `agent.on(...)`.",
    ),
    "invalid-handler": Entry(
        "A function that cannot take what it would be called with, or that is async or a generator.",
        "Take the context first, then what happened, and answer at once; what waits for something is work: invoke it.",
    ),
    "unreachable-transition": Entry(
        "A transition stands behind one that is always taken.", "Put it first, or give the earlier one a guard."
    ),
    "duplicate-id": Entry(
        "Two states, or two invocations that may run at once, have the same id.", "Give each its own `id=`."
    ),
    "duplicate-event": Entry("Two event classes have the same type.", "Give one of them `type=`."),
    "missing-initial": Entry("A state with child states does not say where it starts.", "Give `initial=`."),
    "reserved-event": Entry(
        "An event type of the engine's own (`@...`, `agent.*`) is declared, handled or sent.",
        "Choose another type; for completions and timers there are `on_done`, `on_error` and `after`.",
    ),
    "reserved-name": Entry("A name of the library's own is taken.", "Choose a name that does not begin with `agent.`."),
    "mutable-context": Entry(
        "A context could be changed in place.",
        "Freeze the class; declare `tuple`, `frozenset` or `FrozenDict` where `list`, `set` or `dict` stands.",
    ),
    "invalid-context": Entry(
        "A context, or a type for one, is refused.",
        "Use a frozen pydantic model, a frozen dataclass, a `TypedDict` or a mapping of JSON values that fits.",
    ),
    "invalid-event-class": Entry(
        "An event class cannot be used as one.",
        "The message says why: a field that shadows an attribute or could be changed in place, a wrong `actor`.",
    ),
    "invalid-type": Entry(
        "A type is declared that values cannot be checked by.", "Declare a class, or a type that pydantic knows."
    ),
    "invalid-decision": Entry("The fields of `agent.decide` do not go together.", "The message says which."),
    "decide-allows-human-event": Entry(
        "`allowed_events` or `stop_on` names an event that only a person may send there.",
        'Take it out, or take `actor="human"` off the event or its transitions.',
    ),
    "invalid-call": Entry(
        "A function that cannot be called, named or decoded, or not with the input that is written for it.",
        "Give `name=`, or annotate what the function returns.",
    ),
    "invalid-child": Entry(
        "`agent.child` was given something that is no machine, or a child's input does not fit.",
        "Give a machine; the message names what does not fit.",
    ),
    "invalid-tool": Entry("A function cannot be a tool.", "Annotate its parameters and give it a docstring."),
    "invalid-request": Entry(
        "A text request is incomplete or contradicts itself.",
        "Give exactly one of `prompt` and `messages`, and a `model`.",
    ),
    "invalid-interaction": Entry(
        'What `meta={"interaction": ...}` of a state says cannot be shown, or names an event that there is not.',
        "Mend it at the keys that the message names.",
    ),
    "invalid-model": Entry("A model reference is no text that names one.", 'Write `"provider/model"`, or an alias.'),
    "invalid-definition": Entry("A definition is refused for another reason.", "The message says which."),
    # -- in a step
    "handler-raised": Entry(
        "A function of the machine's author raised; the exception is the cause.",
        "Mend the function that the message names. The snapshot is as it was before.",
    ),
    "invalid-handler-result": Entry(
        "A function returned something that is no move.",
        "Return `None` where the event is not legal, `goto(...)` or `stay(...)` where it is.",
    ),
    "undeclared-target": Entry(
        "A handler leads to a state that is not among its declared (or inferred) targets.", "Declare it: `to=[...]`."
    ),
    "invalid-targets": Entry(
        "A handler leads to several states that cannot be active together, or to none.",
        "Name targets in different regions; `stay()` to stay.",
    ),
    "invalid-name": Entry(
        "A move names a child, a source, a timer or a receiver by something that is no text.",
        'Name it: `spawn("writer", id="one")`.',
    ),
    "unknown-field": Entry(
        "A move sets a context field that does not exist.", "Mend the name; the message lists the near misses."
    ),
    "invalid-field": Entry(
        "A move sets a context field to a value that its type refuses.",
        "The message shows what was given and why it is refused.",
    ),
    "invalid-output": Entry(
        "An output does not fit its declared type, or cannot be written as JSON.",
        "Return what was declared. From a model: raise `max_output_tokens`, or ask more plainly.",
    ),
    "duplicate-child": Entry(
        "A child is started with an id that a running one has.", "Stop it first, or choose another id."
    ),
    "invalid-move": Entry("A move is refused for another reason.", "The message says which."),
    "endless-loop": Entry(
        "Eventless transitions or raised events go round without end; or 1000 requests in a row (10000, if the context "
        "changes or others are being asked) have ended before anybody could be asked.",
        "Give one of the transitions of the cycle that the message shows a guard that turns false; let `on_error` and "
        "`on_done` lead somewhere else.",
    ),
    "missing-time": Entry(
        "A timer is scheduled by a step that was not told the time.", "Call the step with `at=` (Unix seconds)."
    ),
    "step-error": Entry("A step could not be computed.", "See the class and the message."),
    "not-json": Entry(
        "A value cannot be written as JSON without loss.",
        "Change it at the path that is named; clients, locks and files belong in executors.",
    ),
    # -- what comes from outside
    "invalid-event": Entry(
        "What was sent is no event, or its payload does not fit its class.",
        "Send an instance of a declared class, or a mapping with `type` and its fields.",
    ),
    "invalid-input": Entry(
        "The machine's input is refused, or an `Input` says nothing or two things.",
        "Give what the machine's input type asks for.",
    ),
    "invalid-snapshot": Entry(
        "Saved data is damaged, or does not fit the machine.", "The message names the field. The data is untouched."
    ),
    "machine-mismatch": Entry("A snapshot of another machine.", "Load it with the machine that saved it."),
    "version-mismatch": Entry(
        "A snapshot of another version of the machine.", "Give the machine `migrate=`, or the `version=` that it had."
    ),
    "unsupported-format": Entry(
        "Data saved in a format that this version of the library does not read.",
        "Use the version that wrote it, or a newer one.",
    ),
    # -- runs
    "invalid-argument": Entry(
        "A function was called with arguments that are none, or do not go together.", "The message says which."
    ),
    "missing-executor": Entry(
        "The machine asks for a kind of model call that no executor was given for.",
        "Pass it: `Executors(decide=..., generate_text=..., stream_text=...)`.",
    ),
    "whole-loop-executor": Entry(
        "An `agent.act` would be carried out by an executor that runs whole loops with tools of its own.",
        "Give it one that takes single turns, or that calls tools by `info.call_tool`.",
    ),
    "unregistered-source": Entry(
        "The machine invokes a source that nothing carries out.", "Pass `actors={name: function}`."
    ),
    "run-inside-executor": Entry(
        "`run_agent_sync` was called by an executor or a called function, which it would block.",
        "Make the function async and await `run_agent`, or invoke the machine as a child.",
    ),
    "not-open": Entry("A session was used outside of its block.", "Use it inside `async with AgentSession(...)`."),
    "not-settled": Entry(
        "The result of a streamed run was asked for before there was one.",
        "Iterate to the end, leave the block, or `await stream.settled()`.",
    ),
    "invalid-executor-result": Entry(
        "An executor returned something else than its contract says.",
        "Return `Choice(event=...)` or `TextResult(output=...)`.",
    ),
    "invalid-call-result": Entry(
        "A called function returned something else than it is annotated with.", "Mend the function or its annotation."
    ),
    "max-model-calls": Entry(
        "A run wanted more model calls than it may make.", "Raise `max_model_calls`, or branch in `on_error`."
    ),
    "decision-exhausted": Entry(
        "A model chose nothing legal in all its tries.",
        "The message lists the attempts. Branch in `on_error`; improve descriptions and prompt.",
    ),
    "no-legal-events": Entry(
        "There was nothing to decide on; no model was asked.",
        "See to it that an active state handles an allowed event by name whose guard holds.",
    ),
    "script-exhausted": Entry(
        "A scripted executor was asked more often than its script goes.",
        "Add an answer for the request that the message names.",
    ),
    "aborted": Entry("The run was aborted.", "Go on from `result.snapshot`."),
    "raised": Entry(
        "Somebody else's function raised (an executor, a called function); an `ErrorInfo` names its type.",
        "See the type and the message; branch in `on_error`.",
    ),
    "machine-error": Entry("A machine has failed with something that is no exception.", "See `error.data`."),
    # -- text and models
    "invalid-messages": Entry("Data is no list of messages.", "The message names the path of each problem."),
    "invalid-transcript": Entry(
        "A transcript that a provider would refuse.", "Each tool call needs exactly one result, after it."
    ),
    "text-failed": Entry("A model's answer cannot be used.", "See the class and the message."),
    "truncated": Entry(
        "An answer was cut off at the token limit before it was whole.", "Raise `max_output_tokens`, or ask for less."
    ),
    "refused": Entry("The model refuses, or a filter holds its answer back.", "Branch in `on_error`."),
    "max-steps": Entry("The model still calls tools on its last turn.", "Raise `max_steps`, or say when to answer."),
    "provider-error": Entry(
        "The provider refused the call, failed, or could not be reached.",
        "See `status`, `retry_after` and `retryable`.",
    ),
    "incomplete-answer": Entry("An answer broke off before its end.", "Try again; it is `retryable`."),
    "unsupported-request": Entry(
        "The provider has no form for this request; nothing was sent.", "The message says for what."
    ),
    "too-many-tools": Entry(
        "More events or tools are offered than the provider takes.", "Narrow `allowed_events` or `tools`."
    ),
    "no-model": Entry(
        "The request names no model that the adapter knows.", "Give `models={alias: name}`, or name one in the request."
    ),
    "invalid-setting": Entry(
        "A setting of an adapter is out of its range, or belongs to the request.",
        "The message names the setting and the range.",
    ),
    "uncertain-choice": Entry(
        "No offered event is near enough in meaning, or two are too near each other.",
        "Offer an event `Unsure`, add examples, or lower the threshold.",
    ),
    "unknown-price": Entry(
        "The table of prices does not have the model that a request named.",
        'Say what the name stands for: `models={"quick": "provider/model"}`, or whose prices count: `provider=`.',
    ),
    "nothing-to-choose": Entry(
        "Every offered event has fields that a chooser cannot write.",
        "Offer events without fields, or use a model that writes.",
    ),
    "weights-unavailable": Entry(
        "The weights of a local model are not there and cannot be fetched.",
        "The message says how to bring them by hand.",
    ),
    "weights-damaged": Entry("What was fetched as weights is something else.", "Fetch again; nothing damaged is kept."),
    "unknown-request": Entry(
        "A reply is given to a question that nobody is asked now.", "See `pending_inputs` for the ids."
    ),
    "invalid-reply": Entry(
        "A reply does not fit the type that its question declares, or is neither a choice nor a text.",
        "The message says why.",
    ),
    "no-interaction": Entry(
        "Something was answered where no active state shows anything.",
        "Ask `get_interaction` again; the machine has moved on, or the state declares none.",
    ),
    "choice-not-offered": Entry(
        "An answer names a choice that is not offered now.", "The message lists what is; ask `get_interaction` again."
    ),
    "event-not-accepted": Entry(
        "A request of `run_with_requests` leads to an event that the machine does not accept where it stands.",
        "Mend `on_done`, or leave it out: then a model picks among the events that are legal.",
    ),
    "no-free-text": Entry(
        "A text was given where none is asked for.", 'Give one of the choices, or declare `"text_event"`.'
    ),
    "nothing-to-resolve": Entry(
        "A step asks nothing of a model: it waits for an event, a function or a timer.",
        "See `step.owed`; send the event, run the function, or let the time pass.",
    ),
    # -- durable hosts
    "machine-failed": Entry(
        "A machine that a durable host ran has failed.", "`info` says why; `standing()` shows the log that led there."
    ),
    "unknown-workflow": Entry(
        "The engine knows no workflow of this id, or it is another machine's.",
        "Mend the id, or ask the host of the machine that the message names.",
    ),
    "workflow-exists": Entry(
        "A workflow of this id was started with another input.", "Choose another id, or give the same input."
    ),
    "not-launched": Entry(
        "A durable host was asked something in a process where its engine does not run.",
        "Start the engine first: `DBOS(config=...)`, then `DBOS.launch()`.",
    ),
    "workflow-lost": Entry(
        "The engine has given a workflow up: it was cancelled, or was recovered too often.",
        "See the engine's own tools for resuming it; what was recorded is kept.",
    ),
    # -- logs and stores
    "journal-error": Entry("Something is wrong with a log or a store.", "The message says what."),
    "invalid-log": Entry("Data that is no log, or no entry of one.", "The message names the entry and the field."),
    "log-version-mismatch": Entry(
        "A log was written by another machine, or by another version of it.",
        "Give the machine `migrate=`, keep its `version=`, or finish the run with the version that began it.",
    ),
    "replay-diverged": Entry(
        "Replaying leads to another state than the log says.",
        "A function of the machine has changed, or is not pure: give the machine another `version=`.",
    ),
    "missing-verification": Entry(
        "A strict replay met an entry without a hash.", "Replay with `verify=True`, which checks what can be checked."
    ),
    "replay-failed": Entry(
        "A function of the machine raised while an entry was replayed.", "Repair it; the log goes on from that entry."
    ),
    "snapshot-diverged": Entry(
        "A snapshot was given that is not where the thread's log leads to.", "Leave it out: the log is the truth."
    ),
    "log-conflict": Entry(
        "Another worker has written to the thread meanwhile; nothing was written.", "Read the thread again."
    ),
    "store-failed": Entry("The database refused, or could not be reached.", "See the `__cause__`."),
    "store-busy": Entry("Others kept the database locked for too long.", "Try again; it is `retryable`."),
    "invalid-append": Entry(
        "Entries do not follow each other, or a thread id is none.", "The message says which, and what would fit."
    ),
    "duplicate-entry": Entry("The thread holds an entry with this id already.", "It was written before: do nothing."),
    "entry-too-large": Entry(
        "An entry is larger than the store may take.", "Keep large values elsewhere, and a reference in the event."
    ),
    "unknown-thread": Entry("There is no such thread.", "Mend the id; `store.threads()` lists them."),
    "thread-exists": Entry("The thread has entries already.", "Choose another id."),
    "invalid-fork": Entry("More entries are to be copied than there are, or none.", "The message gives the range."),
    "store-durability": Entry(
        "The server promises less durability than was asked for.", "Change its settings, or say what is enough."
    ),
    "store-version": Entry(
        "The tables were made by a newer version of the library.", "Update the library; nothing was changed."
    ),
    "store-closed": Entry("The store has been closed.", "Open another one."),
    "missing-extra": Entry("An optional package is not installed.", "Run the command in the message."),
    "unsupported-platform": Entry(
        "An optional package does not run on this computer.", "Use what the message names instead."
    ),
}
