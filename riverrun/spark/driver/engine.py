"""One attempt of a job as one long-lived Spark job: layer, exchange, layer, exchange, ..."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from riverrun.cluster.engine import ControlAccess, OnEnd
from riverrun.core.errors import Failure
from riverrun.core.ids import JobId
from riverrun.graph.deployment import Deployment, TaskDeployment
from riverrun.graph.pickling import dumps
from riverrun.graph.program_code import ProgramCode
from riverrun.spark.driver.jvm import ROW_SCHEMA, NoFreeSlots, SparkJvm, SparkRefused
from riverrun.spark.driver.settings import session_settings
from riverrun.spark.driver.shipping import search_path_of, send_files, workers_of
from riverrun.spark.worker.brought import Brought
from riverrun.spark.worker.main import Place, StageBody
from riverrun.spark.worker.shared_folder import sweep_after

_LAG_S: Final = 10.0
"""How long Spark may take to see that the tasks of an attempt before have ended."""
_LOOK_S: Final = 0.1


class SparkEngine:
    """Satisfies ``cluster.engine.Engine``; used for one attempt."""

    def __init__(
        self,
        session: SparkSession,
        job: JobId,
        name: str,
        config: Mapping[str, str],
        code: ProgramCode | None = None,
    ) -> None:
        self._session = session
        self._jvm = SparkJvm(session)
        self._job, self._name, self._config = job, name, config
        self._code = code
        self._cancelled = threading.Event()
        # Of this attempt alone: a cancelled group takes no jobs any more.
        self._group = f"riverrun-{job}-{secrets.token_hex(4)}"

    def start(
        self, layers: Sequence[Sequence[Deployment]], control: ControlAccess, on_end: OnEnd
    ) -> None:
        threading.Thread(
            target=self._run,
            args=(layers, control, on_end),
            name=f"riverrun-spark-{self._job}",
            daemon=True,
        ).start()

    def cancel(self) -> None:
        self._cancelled.set()
        if not self._jvm.stopped():
            self._jvm.cancel(self._group)

    def _plan(self, layers: Sequence[Sequence[Deployment]], control: ControlAccess) -> DataFrame:
        context = self._session.sparkContext
        brought = send_files(context, self._code)
        with workers_of(context, self._code):
            return self._planned(layers, control, brought)

    def _planned(
        self,
        layers: Sequence[Sequence[Deployment]],
        control: ControlAccess,
        brought: Brought,
    ) -> DataFrame:
        rows = self._session.range(0, len(layers[0]), 1, len(layers[0]))
        for number, layer in enumerate(layers):
            if number > 0:
                rows = self._jvm.pipelined(rows, len(layer))
            rows = rows.mapInArrow(self._body(number, layer, control, brought), ROW_SCHEMA)
        return rows

    def _body(
        self,
        number: int,
        layer: Sequence[Deployment],
        control: ControlAccess,
        brought: Brought,
    ) -> StageBody:
        return StageBody(
            job=str(self._job),
            attempt=layer[0].attempt,
            layer=number,
            places=tuple(_place(deployment) for deployment in layer),
            program=dumps(tuple(layer)),
            address=control.address,
            secret=control.secret,
            config=dict(self._config),
            search_path=search_path_of(self._code),
            brought=brought,
        )

    def _run(
        self, layers: Sequence[Sequence[Deployment]], control: ControlAccess, on_end: OnEnd
    ) -> None:
        failure: Failure | None = None
        try:
            self._set_up_thread()
            self._run_when_free(layers, control)
        except SparkRefused as error:
            failure = Failure("SparkRefused", str(error), hint=self._hint(str(error)))
        except Exception as error:  # noqa: BLE001  (the engine's edge: it becomes the job's failure)
            failure = Failure(type(error).__name__, str(error))
        attempt = layers[0][0].attempt
        sweep_after(self._config, str(self._job), attempt, orderly=failure is None)
        on_end(failure)

    def _run_when_free(
        self, layers: Sequence[Sequence[Deployment]], control: ControlAccess
    ) -> None:
        """Run the job; wait for tasks of a job that is over but that Spark has not seen end yet.

        Spark refuses a job for which there are too few free slots at that moment. The slots are ours by
        the ResourceManager's book, so this can only be a matter of time.
        """
        deadline = time.monotonic() + _LAG_S
        while True:
            try:
                self._jvm.run(self._plan(layers, control))
            except NoFreeSlots:
                if self._cancelled.wait(_LOOK_S) or time.monotonic() >= deadline:
                    raise
            else:
                return

    def _hint(self, message: str) -> str | None:
        """What to do about a worker that cannot even load riverrun."""
        if "No module named" not in message:
            return None
        return (
            f"the workers run {self._session.sparkContext.pythonExec!r}, which lacks a module that the "
            f"job needs; install it there, or set PYSPARK_PYTHON to {sys.executable!r} before the "
            f"session starts"
        )

    def _set_up_thread(self) -> None:
        """Say what Spark attaches to this thread: the session, the jobs' group, the SQL settings.

        All of it belongs to the thread, so nothing changes for the user's own use of Spark.
        A task of a stage before the last knows the session's settings from there only.
        """
        self._jvm.activate()
        context = self._session.sparkContext
        context.setJobGroup(self._group, f"riverrun job {self._name}", interruptOnCancel=True)
        for key, value in session_settings().items():
            context.setLocalProperty(key, value)


def _place(deployment: Deployment) -> Place:
    vertex = str(deployment.vertex) if isinstance(deployment, TaskDeployment) else ""
    return Place(vertex, deployment.name, deployment.subtask)
