"""The program under construction: its operators, its settings, and the engine it will run on.

Streams and the environment are views of one ``Program``. It is the only thing they share, so neither
needs the other.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from typing import Final, Protocol

from riverrun.api.client_side import ClientSide
from riverrun.api.source import Boundedness
from riverrun.core import cluster_options, options
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ConfigError, ProgramError
from riverrun.core.ids import JobId
from riverrun.core.option_registry import check_config
from riverrun.datastream.compilation import CompiledProgram, compile_program
from riverrun.datastream.execution_config import ExecutionConfig
from riverrun.datastream.job_client import JobClient, JobExecutionResult
from riverrun.datastream.prepared import Prepared
from riverrun.datastream.slot_sharing_group import SlotSharingGroup
from riverrun.datastream.unexecuted import Unexecuted
from riverrun.graph.executor import JobExecutor, JobSubmission, RunningJob
from riverrun.graph.executors import executor_for
from riverrun.graph.specs import OperatorSpec, SourceSpec
from riverrun.graph.transformations import Transformation, Upstream
from riverrun.serde.type_info import TypeInformation

DEFAULT_JOB_NAME: Final = "riverrun job"
_LOCAL_CORES: Final = re.compile(r"local\[(\d+)")


class Environment(Protocol):
    """The environment as streams know it."""

    def get_config(self) -> ExecutionConfig:
        """The settings of the program."""

    def get_parallelism(self) -> int:
        """The parallelism of operators that do not say."""

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and wait for its end."""

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Run the program without waiting."""


class Program:
    """The operators defined so far, the configuration, and the executor once there is one."""

    def __init__(self, config: Configuration, session: object | None = None) -> None:
        check_config(config)
        self.config = config
        self.environment: Environment | None = None
        self.default_local_parallelism = os.cpu_count() or 1
        self._session = session
        self._executor: JobExecutor | None = None
        self._ids = itertools.count(1)
        self._transformations: list[Transformation] = []
        self._unexecuted = Unexecuted()
        self._side_outputs: dict[tuple[int, str], TypeInformation | None] = {}
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}
        self._used_job_id: str | None = None

    def add(
        self,
        name: str,
        spec: OperatorSpec,
        inputs: Sequence[Upstream] = (),
        *,
        output_type: TypeInformation | None = None,
        enforce_type: bool = False,
        forced_parallelism: int | None = None,
    ) -> Transformation:
        """Define an operator."""
        transformation = Transformation(
            id=next(self._ids),
            name=name,
            spec=spec,
            inputs=list(inputs),
            output_type=output_type,
            enforce_type=enforce_type,
            forced_parallelism=forced_parallelism,
        )
        self._transformations.append(transformation)
        self._unexecuted.note(transformation)
        return transformation

    def parallelism(self) -> int:
        """The parallelism of operators that do not say: as set, else one per core of a local master."""
        configured = options.PARALLELISM.get(self.config)
        if configured is not None:
            return configured
        if self._session is not None:
            return 1
        master = options.MASTER.get(self.config)
        cores = _LOCAL_CORES.match(master)
        if cores is not None:
            return int(cores[1])
        return self.default_local_parallelism if master in ("local[*]", "local") else 1

    def leaves_jobs(self) -> bool:
        """Whether jobs go on in a JobManager of another process, without this one."""
        is_elsewhere = options.MASTER.get(self.config).startswith(("http://", "https://"))
        return is_elsewhere and not cluster_options.ATTACHED.get(self.config)

    def claim_side_output(
        self, operator: Transformation, tag_id: str, type_info: TypeInformation | None
    ) -> None:
        """Note that a side output is read with this type; the same tag cannot have two types."""
        claimed = self._side_outputs.setdefault((operator.id, tag_id), type_info)
        if claimed != type_info:
            raise ProgramError(
                f"operator {operator.name!r}: its side output {tag_id!r} is read as {claimed!r} "
                f"and as {type_info!r}; use the same OutputTag in both places"
            )

    def register_slot_sharing_group(self, group: SlotSharingGroup) -> None:
        """Note the resources of a group; the same name cannot stand for two different ones."""
        registered = self._slot_sharing_groups.setdefault(group.get_name(), group)
        if registered != group:
            raise ProgramError(
                f"slot sharing group {group.get_name()!r}: was registered with other resources before; "
                f"give one of the two another name"
            )

    def unbounded_source(self) -> str | None:
        """The name of a source that never ends, if there is one."""
        for each in self._transformations:
            match each.spec:
                case SourceSpec(source) if source.get_boundedness() is not Boundedness.BOUNDED:
                    return each.name
        return None

    def compile(self) -> CompiledProgram:
        """Compile all operators defined since the last run."""
        check_config(self.config)
        return compile_program(self._transformations, self.config, self.parallelism())

    def show(self) -> CompiledProgram:
        """Compile in order to look at the result; the program is then not a forgotten one."""
        compiled = self.compile()
        self._unexecuted.clear()
        return compiled

    def submit(self, job_name: str | None) -> RunningJob:
        """Hand the program to the engine, and begin anew: what runs now is no longer defined here."""
        self._unexecuted.clear()
        compiled = self.compile()
        executor = self._ensure_executor()
        client = ClientSide(options.MASTER.get(self.config), self.config.to_dict(), self._session)
        prepared = Prepared(self._transformations, client)
        self._transformations.clear()
        submission = JobSubmission(
            job=self._job_id(),
            name=job_name or options.PIPELINE_NAME.get(self.config) or DEFAULT_JOB_NAME,
            graph=compiled.job_graph,
            config=self.config.to_dict(),
            client_handlers=compiled.client_handlers,
            restore_from=options.RESTORE_PATH.get(self.config),
            allow_non_restored=options.ALLOW_NON_RESTORED.get(self.config),
            resume=options.RESUME.get(self.config),
        )
        return prepared.released_after(lambda: executor.submit(submission))

    def close(self) -> None:
        """Drop what was not run, and release the executor; a later run makes a new one."""
        self._unexecuted.clear()
        self._transformations.clear()
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()

    def _job_id(self) -> JobId:
        """The id that the configuration sets, for one job; otherwise a new one."""
        configured = options.JOB_ID.get(self.config)
        if configured is None:
            if options.RESUME.get(self.config):
                raise ConfigError(
                    f"option {options.RESUME.key!r}: is true, but no job is named; "
                    f"set {options.JOB_ID.key!r} to the id of the job to go on with"
                )
            return JobId.random()
        if self._used_job_id == configured:
            raise ProgramError(
                f"option {options.JOB_ID.key!r}: is {configured!r}, which a job of this program has "
                f"already; a program whose job has a fixed id can run one job only"
            )
        self._used_job_id = configured
        return JobId(configured)

    def _ensure_executor(self) -> JobExecutor:
        if self._executor is None:
            master = options.MASTER.get(self.config)
            self._executor = executor_for(master, self.config.to_dict(), self._session)
        return self._executor
