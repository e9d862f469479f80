"""The body of a Spark stage: hosts the task (or relay) whose partition it is.

    connect to the JobMaster  ->  build and open the task  ->  run the shell  ->  close, say goodbye

A task that fails tells the JobMaster why, with the user's own traceback, and then ends its process:
raising through Spark's worker would cost seconds and bury the message in Java's.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from riverrun.core import options
from riverrun.core.clock import SystemClock
from riverrun.core.errors import Failure, RiverrunError
from riverrun.core.lifecycle import TaskStatus
from riverrun.core.log_output import LogSettings
from riverrun.core.time import to_millis
from riverrun.graph.deployment import Deployment, RelayDeployment, TaskDeployment
from riverrun.graph.pickling import loads
from riverrun.protocol.control import (
    Cancel,
    FailureOrigin,
    Register,
    Start,
    StatusChanged,
    TaskEnded,
    TaskFailed,
)
from riverrun.protocol.inquiries import Inquiry
from riverrun.protocol.wire import Address
from riverrun.runtime.failures import OperatorFailed, describe
from riverrun.runtime.relay import Relay
from riverrun.spark.worker import allocator, collector
from riverrun.spark.worker.brought import Brought
from riverrun.spark.worker.control_client import (
    ControlClient,
    Instruction,
    JobMasterGone,
    RegistrationRefused,
    SendCanceled,
)
from riverrun.spark.worker.dead_man import DeadManSwitch
from riverrun.spark.worker.departure import Departure, TaskCanceled, exit_now, exit_within
from riverrun.spark.worker.executor_id import executor_id
from riverrun.spark.worker.inquiries import InquiryDesk
from riverrun.spark.worker.ledger import Spending, TimeLedger
from riverrun.spark.worker.logs import write_logs
from riverrun.spark.worker.mailbox import InputBroken, Mailbox
from riverrun.spark.worker.nearby import Nearby
from riverrun.spark.worker.relay_shell import RelayShell
from riverrun.spark.worker.reporter import InputUsage, MetricsReporter
from riverrun.spark.worker.rows import empty_batch
from riverrun.spark.worker.shared_folder import SharedFolder
from riverrun.spark.worker.task_host import TaskHost
from riverrun.spark.worker.task_shell import TaskShell

log = logging.getLogger(__name__)

_CONNECT_S: Final = 30.0
_GOODBYE_S: Final = 2.0
_LEAVING: Final = (GeneratorExit, TaskCanceled, SendCanceled)
"""What makes a task leave that did not fail itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which subtask a partition hosts: known without unpickling the program."""

    vertex: str
    task: str
    subtask: int


@dataclass(frozen=True, slots=True)
class StageBody:
    """What Spark calls for each partition of a layer's stage; pickled by reference to this class."""

    job: str
    attempt: int
    layer: int
    places: tuple[Place, ...]
    program: bytes = field(repr=False)
    """The layer's deployments, pickled together."""
    address: Address
    secret: bytes = field(repr=False)
    config: Mapping[str, str] = field(repr=False)
    search_path: tuple[str, ...]
    brought: Brought = field(default_factory=Brought)
    """What Spark brought to the executor."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The generator that Spark drives; yields Arrow batches of rows for the next layer."""
        from pyspark import TaskContext  # noqa: PLC0415  (only inside a Spark worker)

        context = TaskContext.get()
        if context is None:
            raise RiverrunError("a stage body runs inside a Spark task only")
        yield from _Host(self, context.partitionId()).run(batches)


class _Host:
    """One partition of one attempt of one layer."""

    def __init__(self, body: StageBody, partition: int) -> None:
        self._body = body
        self._place = body.places[partition]
        self._partition = partition
        self._clock = SystemClock()
        self._ledger = TimeLedger(self._clock)
        self._started = threading.Event()
        self._reported = False
        grace_s = to_millis(options.CANCEL_GRACE.get(body.config)) / 1000.0
        self._departure = Departure(grace_s)
        folder = SharedFolder.open(body.config, body.job, body.attempt)
        self._nearby = Nearby(body.config, folder, self._pause)
        self._mailbox = Mailbox(options.MAILBOX_FRAMES.get(body.config), self._nearby.received)
        self._executor = executor_id()
        self._desk = self._open_desk()

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        try:
            control = self._connect()
        except BaseException:
            self._nearby.close()  # Spark may keep this process for another task
            raise
        try:
            with self._departure.interruptible():
                yield from self._work(control, batches)
            self._nearby.close()
            control.send(TaskEnded(TaskStatus.FINISHED))
        except _LEAVING:
            # GeneratorExit: Spark stopped reading, or the interrupt hit its code rather than ours.
            self._leave(control, TaskStatus.CANCELED)
        except BaseException as error:  # noqa: BLE001  (the shell's edge: it becomes the task's failure)
            self._report(control, error)
            self._leave(control, TaskStatus.FAILED)
        control.close()

    def _connect(self) -> ControlClient:
        body, place = self._body, self._place
        register = Register(
            job=body.job,
            attempt=body.attempt,
            vertex=place.vertex,
            task=place.task,
            subtask=place.subtask,
            layer=body.layer,
            partition=self._partition,
            pid=os.getpid(),
            host=socket.gethostname(),
            task_manager=self._executor,
            shared=self._nearby.token,
        )
        switch = DeadManSwitch()
        switch.press(_CONNECT_S + to_millis(options.HEARTBEAT_TIMEOUT.get(body.config)) / 1000.0)
        try:
            control = ControlClient.connect(
                body.address, body.secret, register, timeout_ms=_CONNECT_S * 1000.0
            )
        except RegistrationRefused:
            self._nearby.close()
            exit_now()  # the job is ending already: nobody waits for this task
        control.start(
            lambda message: self._on_message(message, control), self._departure.ask, switch=switch
        )
        log.info("task is there job=%s attempt=%d pid=%d", body.job, body.attempt, register.pid)
        return control

    def _open_desk(self) -> InquiryDesk:
        """Begin to write logs, and answer questions about this process."""
        body, place = self._body, self._place
        parallelism = sum(each.vertex == place.vertex for each in body.places)
        task = f"{place.task} ({place.subtask + 1}/{parallelism})#{body.attempt}"
        logs = write_logs(LogSettings.of(body.config), self._executor, f"[{task}]")
        return InquiryDesk(task, logs)

    def _on_message(self, message: Instruction, control: ControlClient) -> None:
        match message:
            case Inquiry():
                self._desk.take(message, control.send)
            case Start(nearby):
                self._nearby.met(nearby)
                self._started.set()
            case Cancel(reason):
                self._departure.ask(reason)
            case _:
                self._mailbox.order(message)

    def _work(self, control: ControlClient, batches: Iterable[Any]) -> Iterator[Any]:
        collector.calm()
        allocator.keep_memory()
        control.send(StatusChanged(TaskStatus.INITIALIZING))
        deployment = self._deployment()
        # The first layer's rows only start its tasks; other layers' rows are frames.
        reader = self._mailbox.read(_drained(batches) if self._body.layer == 0 else batches)
        if isinstance(deployment, TaskDeployment):
            yield from self._run_task(deployment, control)
        else:
            yield from self._run_relay(deployment, control)
        reader.join()
        yield empty_batch()

    def _deployment(self) -> Deployment:
        if self._body.brought.code:
            self._body.brought.unpack(_files_root())
        _extend_search_path(self._body.search_path)
        layer: tuple[Deployment, ...] = loads(self._body.program)
        return layer[self._partition]

    def _run_task(self, deployment: TaskDeployment, control: ControlClient) -> Iterator[Any]:
        host = TaskHost(
            deployment,
            self._clock,
            control,
            self._mailbox.wake,
            lambda: len(self._mailbox),
        )
        task = host.task
        reporter = self._reporter(task.metrics.snapshot, control)
        try:
            task.open()
            control.send(StatusChanged(TaskStatus.RUNNING))
            reporter.start()
            shell = TaskShell(task, self._mailbox, self._clock, self._ledger, host, self._nearby)
            yield from shell.run(self._started)
        except BaseException as error:
            # Said first: closing runs the user's code, which may take any time.
            self._report(control, error)
            host.close()
            raise
        broken = host.close()
        if broken is not None:
            raise broken
        reporter.close()

    def _run_relay(self, deployment: RelayDeployment, control: ControlClient) -> Iterator[Any]:
        relay = Relay(deployment)
        control.send(StatusChanged(TaskStatus.RUNNING))
        reporter = self._reporter(lambda: {"": {"numBytesOut": relay.bytes_through}}, control)
        reporter.start()
        yield from RelayShell(relay, self._mailbox, self._ledger, self._nearby).run()
        reporter.close()

    def _reporter(self, snapshot: Any, control: ControlClient) -> MetricsReporter:
        interval_s = to_millis(options.METRICS_INTERVAL.get(self._body.config)) / 1000.0
        room = options.MAILBOX_FRAMES.get(self._body.config)
        usage = InputUsage(lambda: len(self._mailbox), room)
        return MetricsReporter(snapshot, self._ledger, control.send, interval_s, usage)

    def _pause(self, seconds: float) -> None:
        """Wait because consumers are behind."""
        self._ledger.enter(Spending.BACK_PRESSURED)
        time.sleep(seconds)
        self._ledger.enter(Spending.BUSY)

    def _report(self, control: ControlClient, error: BaseException) -> None:
        """Tell the JobMaster why the task fails, once; leaving because one must is no failure."""
        if self._reported or isinstance(error, _LEAVING):
            return
        self._reported = True
        failure: Failure = describe(error, task=self._place.task, subtask=self._place.subtask)
        # The JobManager tells the user; on the console of a worker it would come twice.
        log.info("task failed job=%s", self._body.job, exc_info=error)
        with suppress(RiverrunError):
            control.send(TaskFailed(failure, _origin(error)))

    def _leave(self, control: ControlClient, outcome: TaskStatus) -> NoReturn:
        """Say goodbye and end this process: its socket to Spark is in no state to be used again."""
        exit_within(_GOODBYE_S)
        self._nearby.close()
        with suppress(RiverrunError):
            control.send(TaskEnded(TaskStatus.FAILED if self._reported else outcome))
        control.close(_GOODBYE_S)
        exit_now()


def _origin(error: BaseException) -> FailureOrigin:
    if isinstance(error, JobMasterGone | InputBroken):
        return FailureOrigin.CONSEQUENCE
    user = isinstance(error, OperatorFailed) or not isinstance(error, Exception)
    return FailureOrigin.USER if user else FailureOrigin.SYSTEM


def _drained(batches: Iterable[Any]) -> Iterator[Any]:
    for _ in batches:
        pass
    return iter(())


def _files_root() -> str:
    """Where the executor keeps the files that Spark brought."""
    from pyspark import SparkFiles  # noqa: PLC0415  (only inside a Spark worker)

    return str(SparkFiles.getRootDirectory())


def _extend_search_path(search_path: Iterable[str]) -> None:
    """Let the worker import what the program could: modules beside the user's script."""
    for path in search_path:
        if path not in sys.path:
            sys.path.append(path)
