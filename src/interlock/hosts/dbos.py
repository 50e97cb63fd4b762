"""Machines as workflows of DBOS, in SQLite or PostgreSQL (extra ``dbos``).

    host = DBOSHost(machine, executors)                        # before DBOS.launch()
    DBOS(config={"name": "app", "application_version": application_version("app", host), ...})
    DBOS.launch()
    host.start(input, workflow_id="case-7")
    host.send("case-7", Approve(by="Ann"), event_id="mail-12")
    host.result("case-7")

All methods are plain functions that talk to the database: from a running event loop, call them in a thread
(``anyio.to_thread.run_sync``). The workflows themselves run on DBOS's own loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic_core import to_json

from interlock.agent.contract import Executors
from interlock.agent.reading import checked_machine
from interlock.agent.reasons import short
from interlock.errors import (
    BindError,
    HostError,
    LogVersionError,
    MachineFailedError,
)
from interlock.hosts.dbos_border import check_id, check_name, check_place, check_poll, library, raise_known
from interlock.hosts.dbos_steps import LiveSteps, RecordedSteps, RecordEndsError
from interlock.hosts.loop import diverged, machine_failed, message_of, reply_of, run_durably
from interlock.hosts.standing import Standing
from interlock.journal import LogEntry
from interlock.journal.entries import is_name
from interlock.run import bind
from interlock.run.arguments import check_actors, check_event_id, check_max_model_calls, checked_executors
from interlock.run.border import check_input, error_info, read_event
from interlock.run.replies import answers
from interlock.run.steps import AgentStep
from interlock.statechart import Machine
from interlock.statechart.frozen import freeze

if TYPE_CHECKING:
    from dbos import WorkflowStatus

__all__ = ["DBOSHost", "application_version"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

_BEGINS_WITHIN = 10.0
"""Seconds in which a started workflow takes its first step. Nothing is lost where it does not: it is stored."""

_ACTIVE = frozenset({"PENDING", "ENQUEUED", "DELAYED"})
_LOST = {"CANCELLED": "was cancelled", "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "was recovered too often"}


class _ProcessEndsError(BaseException):
    """The process ends in an orderly way (``DBOS.destroy()``) while a workflow runs."""


class DBOSHost(Generic[C, I, O]):
    """Runs a machine as a workflow of DBOS: each model call, tool and function is one step that is recorded."""

    def __init__(
        self,
        machine: Machine[C, I, O],
        executors: Executors | None = None,
        *,
        actors: Mapping[str, object] | None = None,
        name: str | None = None,
        max_model_calls: int = 100,
    ) -> None:
        """Register the workflow; do this before ``DBOS.launch()``, in every process that is to run it.

        Arguments:
            machine: the machine.
            executors: who carries out model calls, async or plain.
            actors: functions or machines by source, as for ``run_agent``.
            name: the workflow's name in DBOS; ``interlock.<machine id>``, if not given.
            max_model_calls: how many model calls one workflow may make.

        Raises :class:`MissingExtraError` without the package ``dbos``, :class:`BindError` for an executor or function
        that is missing, and for arguments that mean nothing.
        """
        checked_machine(machine)
        check_actors(actors)
        check_max_model_calls(max_model_calls)
        check_name(name)
        self._machine = machine.provide(actors) if actors else machine
        self._executors = checked_executors(executors)
        bind.check(self._machine, self._executors)
        self._most = max_model_calls
        self._starting: dict[str, threading.Event] = {}
        self._dbos = library()
        self.name = name or f"interlock.{machine.id}"

        async def workflow(begun: dict[str, Any]) -> dict[str, Any]:
            has_begun = self._starting.get(cast("str", self._dbos.DBOS.workflow_id)) or threading.Event()
            try:
                return await self._run(begun, has_begun)
            except asyncio.CancelledError:
                # DBOS takes a cancelled future for a failed workflow and would keep it as one. This, which it knows
                # nothing of, leaves the workflow as it is: to be recovered.
                raise _ProcessEndsError from None
            except (Exception, GeneratorExit):
                raise
            except BaseException as error:
                # A function of the machine has raised it. Here it would end all workflows of the process, and leave
                # this one waiting for ever.
                raise machine_failed(self._machine, error_info(error)) from error
            finally:
                has_begun.set()

        portable = self._dbos.WorkflowSerializationFormat.PORTABLE
        self._workflow = self._dbos.DBOS.workflow(name=self.name, serialization_type=portable)(workflow)

    @property
    def machine(self) -> Machine[C, I, O]:
        """The machine, with its sources."""
        return self._machine

    def start(self, input: I | None = None, *, workflow_id: str) -> str:
        """Start the machine, once: a second start under the same id with the same input changes nothing.

        Returns the workflow's id, once the first step is taken. Raises :class:`InputError` for a refused input,
        :class:`HostError` (``workflow-exists``) for an id that was started with another input, (``not-launched``)
        before ``DBOS.launch()``, :class:`LogVersionError` for one that was begun by another version.
        """
        check_input(self._machine, input)
        begun = {
            "machine": self._machine.id,
            "version": self._machine.version,
            "input": json.loads(to_json(self._machine.input_json(input))),
        }
        before = self._begun(workflow_id, self._started(workflow_id, begun))
        self._check_version(workflow_id, before)
        if before["input"] != begun["input"]:
            raise HostError(
                f"workflow {workflow_id!r} of machine {self._machine.id!r} was started with another input; choose "
                "another id",
                code="workflow-exists",
            )
        return workflow_id

    def send(self, workflow_id: str, event: object, *, event_id: str | None = None) -> None:
        """Send an event to a machine.

        Arguments:
            workflow_id: whose.
            event: an instance of one of the machine's event classes, or a mapping with ``type`` beside its fields.
            event_id: with it the event counts once, however often it is sent.

        It is stored before this returns. Whether it is legal shows when the machine takes it: an event that nothing
        waits for then changes nothing, and is listed in ``standing(...).ignored``; after its end it takes none.

        Raises :class:`InputError` for what is no event of the machine, :class:`HostError` for an unknown workflow,
        :class:`LogVersionError` for one that was begun by another version.
        """
        read = read_event(self._machine, event)
        if event_id is not None:
            check_event_id(event_id)
        status = self._status(workflow_id)
        if status.status in _ACTIVE:
            self._check_version(workflow_id, self._begun(workflow_id, status))
        self._post(workflow_id, message_of(read, event_id), event_id)

    def reply(self, workflow_id: str, request_id: str, value: object, *, event_id: str | None = None) -> None:
        """Reply to a question that a machine asks people; ``standing(...).pending_inputs`` says what is asked.

        Arguments:
            workflow_id: whose question.
            request_id: the question's id, or its name where only one that is asked has it.
            value: the reply, which fits the question's type.
            event_id: with it a reply may be sent again, by who does not know whether it has arrived.

        It is stored before this returns. Of several replies to one question the first that the machine takes counts;
        the others change nothing, and those that it still takes are listed in ``standing(...).ignored``.

        Raises :class:`InputError` (``unknown-request``) for what nobody is asked now, (``invalid-reply``) for a reply
        that does not fit, and what :meth:`standing` raises.
        """
        if not isinstance(cast("object", request_id), str):
            raise BindError(f"request_id={short(request_id)}; give the id of a question")
        if event_id is not None:
            check_event_id(event_id)
        active = self._status(workflow_id).status in _ACTIVE
        standing = self.standing(workflow_id)
        if event_id is not None and any(entry.id == event_id for entry in standing.entries):
            return
        for given in answers(standing.snapshot if active else None, {request_id: value}):
            identity = "/".join((*given.address, str(given.invocation)))  # a name may be another question's tomorrow
            self._post(workflow_id, reply_of(identity, value, event_id), event_id)

    def result(self, workflow_id: str, *, poll: float = 1.0) -> O:
        """Wait until a machine has ended, and return its output.

        Arguments:
            workflow_id: whose.
            poll: seconds between two looks into the database.

        Raises :class:`MachineFailedError` for a machine that has failed, :class:`HostError` for a workflow that is not
        there or was given up, :class:`LogVersionError` for one that another version has begun and not ended: waiting
        for it here would be waiting for ever. A workflow that was ended by something else raises that: by a mistake of
        the host, or by a :class:`ReplayDivergedError`.
        """
        check_poll(poll)
        status = self._status(workflow_id)
        if status.status in _ACTIVE:
            self._check_version(workflow_id, self._begun(workflow_id, status))
        try:
            handle = self._dbos.DBOS.retrieve_workflow(workflow_id)
            ended: Any = handle.get_result(polling_interval_sec=poll)
        except self._dbos.PortableWorkflowError as error:
            raise_known(error)
        except self._dbos.error.DBOSException:
            status = self._status(workflow_id)
            if status.status not in _LOST:
                raise
            raise HostError(
                f"workflow {workflow_id!r} of machine {self._machine.id!r} {_LOST[status.status]}; see DBOS's own "
                "tools for resuming it",
                code="workflow-lost",
            ) from None
        return self._output(ended["output"])

    def standing(self, workflow_id: str) -> Standing[C]:
        """Return how far a machine has come, with its log and what it has ignored, while it runs and after its end.

        It is worked out from the records: all of the workflow's are read, and the machine is replayed over them, so it
        costs the more the longer the log is. No call is made, and the workflow is not disturbed. To wait for the end,
        use :meth:`result`, which looks at one row.

        Raises :class:`HostError` for an unknown workflow, :class:`LogVersionError` for one of another version,
        :class:`ReplayDivergedError` where the machine has changed since in the same version, :class:`InvalidLogError`
        for records that no host has written.
        """
        begun = self._begun(workflow_id, self._status(workflow_id))
        self._check_version(workflow_id, begun)
        listed = self._dbos.DBOS.list_workflow_steps(workflow_id)
        recorded = RecordedSteps(workflow_id, [(item["function_name"], item["output"]) for item in listed])
        entries: list[LogEntry] = []
        ignored: list[object] = []
        last: list[AgentStep[C]] = []

        def told(step: AgentStep[C], event: object) -> None:
            entries.extend(step.entries)
            last[:] = [step]
            if event is not None:
                ignored.append(freeze(event))

        looking = run_durably(
            self._machine, self._input(begun), self._executors, recorded, max_model_calls=self._most, told=told
        )
        try:
            looking.send(None)  # it waits for nothing: all that it asks for is there, or is not
        except (StopIteration, RecordEndsError, MachineFailedError):
            pass
        finally:
            looking.close()
        if last and recorded.unasked:
            raise diverged(self._machine, last[0], f"{recorded.unasked[0]!r} was recorded, and is asked for no more")
        return Standing(snapshot=last[0].snapshot if last else None, entries=tuple(entries), ignored=tuple(ignored))

    def _started(self, workflow_id: str, begun: Mapping[str, Any]) -> WorkflowStatus:
        """Start a workflow if it is not there, and return how it stands."""
        ours = threading.Event()
        check_id(workflow_id)
        has_begun = self._starting.setdefault(workflow_id, ours)  # another thread may be starting the same one
        try:
            known = self._known(workflow_id)
            if known is None:
                # A function that a machine calls may start another one: a workflow of its own, not a part of that call.
                apart = self._dbos.DBOS.step_id is not None
                context = contextvars.Context() if apart else contextvars.copy_context()
                context.run(self._start, workflow_id, begun)
                # An orderly end of the process before that would be kept by DBOS as the workflow's failure. And whoever
                # has started a machine may ask at once how it stands.
                has_begun.wait(_BEGINS_WITHIN)
                known = self._status(workflow_id)
        finally:
            if has_begun is ours:
                del self._starting[workflow_id]
        return known

    def _start(self, workflow_id: str, begun: Mapping[str, Any]) -> None:
        with self._dbos.SetWorkflowID(workflow_id):
            self._dbos.DBOS.start_workflow(self._workflow, begun)

    def _post(self, workflow_id: str, message: Mapping[str, object], event_id: str | None) -> None:
        self._dbos.DBOS.send(
            workflow_id,
            to_json(message).decode(),
            idempotency_key=event_id,
            serialization_type=self._dbos.WorkflowSerializationFormat.PORTABLE,
        )

    # -- the workflow ------------------------------------------------------------------------------------------------

    async def _run(self, begun: dict[str, Any], has_begun: threading.Event) -> dict[str, Any]:
        workflow_id = cast("str", self._dbos.DBOS.workflow_id)
        self._check_version(workflow_id, begun)
        steps = LiveSteps(self._dbos.DBOS, workflow_id)
        last: list[AgentStep[C]] = []

        def told(step: AgentStep[C], _ignored: object) -> None:
            last[:] = [step]
            has_begun.set()

        try:
            snapshot = await run_durably(
                self._machine,
                self._input(begun),
                self._executors,
                steps,
                max_model_calls=self._most,
                told=told,
            )
        except self._dbos.error.DBOSUnexpectedStepError as error:
            if not last:
                raise
            raise diverged(self._machine, last[0], f"what was recorded is not what is asked for ({error})") from error
        finally:
            await steps.end()
        return {"output": snapshot.dump()["output"]}

    def _input(self, begun: Mapping[str, Any]) -> object:
        given = begun["input"]
        return None if given is None else self._machine.input_from_json(freeze(given))

    def _output(self, output: object) -> O:
        adapter = self._machine.output_type
        found: O = freeze(output) if adapter is None else adapter.validate_json(to_json(output))
        return found

    # -- whose workflow it is ----------------------------------------------------------------------------------------

    def _status(self, workflow_id: str) -> WorkflowStatus:
        status = self._known(workflow_id)
        if status is None:
            raise HostError(f"DBOS knows no workflow {workflow_id!r}; start it with host.start(...)")
        return status

    def _known(self, workflow_id: str) -> WorkflowStatus | None:
        """Return how a workflow stands, if there is one; what is asked first by all that talk to the database."""
        check_id(workflow_id)
        check_place()
        try:
            return cast("WorkflowStatus | None", self._dbos.DBOS.get_workflow_status(workflow_id))
        except self._dbos.error.DBOSException as error:
            if type(error) is not self._dbos.error.DBOSException:
                raise
            raise HostError(
                f"DBOS does not run in this process ({error}); first call DBOS(config=...) and DBOS.launch()",
                code="not-launched",
            ) from error

    def _begun(self, workflow_id: str, status: WorkflowStatus) -> Mapping[str, Any]:
        """Return what a workflow was started with."""
        if status.name != self.name or status.input is None:
            raise HostError(
                f"workflow {workflow_id!r} is one of {status.name!r}, this host runs {self.name!r}; ask that one's host"
            )
        found: Mapping[str, Any] = status.input["args"][0]
        return found

    def _check_version(self, workflow_id: str, begun: Mapping[str, Any]) -> None:
        machine = self._machine
        if begun["machine"] == machine.id and begun["version"] == machine.version:
            return
        raise LogVersionError(
            f"workflow {workflow_id!r} was begun by version {begun['version']!r} of machine {begun['machine']!r}, this "
            f"is version {machine.version!r} of {machine.id!r}; let a process with that version end it (DBOS hands it "
            "to none of another application_version), or keep the machine's version= if nothing that matters has "
            "changed",
            index=0,
            expected=machine.version,
            actual=str(begun["version"]),
        )


def application_version(app: str, *hosts: DBOSHost[Any, Any, Any]) -> str:
    """Return an ``application_version`` for DBOS that is another one if, and only if, one machine is, or comes or goes.

    DBOS recovers the workflows of its own version only, so those of an older machine wait for a process that has it.
    Left to itself, DBOS makes the version of the workflows' source, which is the same for all machines.

    Arguments:
        app: the application's ``name`` in DBOS: two applications in one database may not have a version in common.
        hosts: all hosts of the application.

    Raises :class:`BindError` for two hosts of one name: DBOS would run the workflows of both with the last one.
    """
    if not is_name(app):
        raise BindError(f"app={short(app)}; give the application's name in DBOS")
    for host in hosts:
        if not isinstance(cast("object", host), DBOSHost):
            raise BindError(f"{short(host)} is no host; give DBOSHost(machine, executors)")
    names = [host.name for host in hosts]
    for name in names:
        if names.count(name) > 1:
            raise BindError(f"two hosts have the name {name!r}; give each its own: DBOSHost(..., name=...)")
    listed = sorted([host.name, host.machine.id, host.machine.version] for host in hosts)
    return f"{app}-{hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]}"
