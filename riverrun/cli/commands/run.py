"""``river run``: run a script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import typer

from riverrun.cli.arguments import (
    AllowNonRestored,
    Attach,
    ClaimMode,
    ConfigFile,
    Definitions,
    FromCheckpoint,
    JobIdentity,
    Master,
    Parallelism,
    ProgramWords,
    PyFlink,
    PythonArchives,
    PythonExecutable,
    PythonFile,
    PythonFiles,
    PythonModule,
    PythonRequirements,
    Resume,
    WithPage,
)
from riverrun.cli.program_call import Needs, ProgramCall, importable
from riverrun.cli.program_settings import command_line, effective_settings, handed_to_programs
from riverrun.cli.pyflink_names import pyflink_names
from riverrun.cli.session_arguments import Address, AsJson
from riverrun.core import cluster_options, options
from riverrun.core.config_sources.setting import Origin, Setting, Source
from riverrun.ui.opening import PORTS, open_page

if TYPE_CHECKING:
    from riverrun.graph.executor import RunningJob

Words = dict[str, tuple[str, str]]
_KEYS: Final = {
    "--from-checkpoint": options.RESTORE_PATH.key,
    "--allow-non-restored-state": options.ALLOW_NON_RESTORED.key,
    "--claim-mode": options.CLAIM_MODE.key,
    "--job-id": options.JOB_ID.key,
    "--resume": options.RESUME.key,
    "--detached": cluster_options.ATTACHED.key,
}
"""The options of the command line that stand for an option of the configuration."""
_IF_GIVEN: Final = {
    "--allow-non-restored-state": "true",
    "--resume": "true",
    "--detached": "false",
}
"""What those mean that have no value."""


def run(  # noqa: PLR0913  (one parameter for each option)
    words: ProgramWords = None,
    *,
    python_file: PythonFile = None,
    module: PythonModule = None,
    python_files: PythonFiles = None,
    archives: PythonArchives = None,
    executable: PythonExecutable = None,
    requirements: PythonRequirements = None,
    pyflink: PyFlink = False,
    address: Address = None,
    detached: Attach = False,
    as_json: AsJson = False,
    master: Master = None,
    parallelism: Parallelism = None,
    define: Definitions = None,
    config_file: ConfigFile = None,
    from_checkpoint: FromCheckpoint = None,
    allow_non_restored_state: AllowNonRestored = False,
    claim_mode: ClaimMode = None,
    resume: Resume = False,
    job_id: JobIdentity = None,
    ui: WithPage = False,
) -> None:
    """Run a script; its environment begins with the options given here.

    With -m its jobs run on that JobManager; without it they run on a Spark application of their own, which
    ends with the script.
    """
    program = ProgramCall.of(words or (), python_file, module)
    named = _words(
        {
            "--from-checkpoint": from_checkpoint,
            "--allow-non-restored-state": allow_non_restored_state,
            "--claim-mode": claim_mode,
            "--job-id": job_id,
            "--resume": resume,
            "--detached": detached,
        },
        Needs(python_files, archives, executable, requirements),
    )
    given = command_line(master, parallelism, define or (), named)
    config = effective_settings(given, config_file).values()
    place = _job_manager(address, config, detached=detached, master=master)
    named |= _page_words(config) if ui and place is None else {}
    given = command_line(place or master, parallelism, define or (), named)
    if from_checkpoint is not None or resume:
        given = _looked_up(given, config, from_checkpoint, resume=resume, is_here=place is None)
    with ExitStack() as stack:
        if pyflink:
            stack.enter_context(pyflink_names())
        stack.enter_context(importable(python_files))
        stack.enter_context(handed_to_programs(given, config_file))
        stack.enter_context(_told(place, as_json=as_json, ui=ui))
        raise typer.Exit(program.run())


def _words(given: Mapping[str, str | bool | None], needs: Needs) -> Words:
    """By key of an option, the words of the command line that set it."""
    found: Words = {}
    for name, value in given.items():
        if value:
            text = _IF_GIVEN.get(name) or str(value)
            found[_KEYS[name]] = (name, text)
    for key, (name, path) in needs.settings().items():
        if path is not None:
            found[key] = (name, path)
    return found


def _page_words(config: Mapping[str, str]) -> Words:
    """What lets jobs that run here be seen on a page.

    Raises:
        typer.BadParameter: no JobManager would serve it.
    """
    if options.MASTER.get(config) == "in-process":
        raise typer.BadParameter(
            "--ui: jobs on the master 'in-process' have no JobManager that could serve the page; "
            "use local[N], or send them with -m to one that river cluster start began"
        )
    found = {
        cluster_options.REST_ENABLED.key: ("--ui", "true"),
        cluster_options.OPEN_PAGE.key: ("--ui", "true"),
    }
    ports = (cluster_options.REST_BIND_PORT, cluster_options.REST_PORT)
    if not any(option.is_set(config) for option in ports):
        found[cluster_options.REST_BIND_PORT.key] = ("--ui", PORTS)
    return found


def _job_manager(
    address: str | None, config: Mapping[str, str], *, detached: bool, master: str | None
) -> str | None:
    """The address of the JobManager to which jobs are sent; ``None`` when they are run here.

    Raises:
        NoJobManager: one is needed, and none is known.
    """
    if address is not None and master is not None:
        raise typer.BadParameter(
            "--master and -m: a JobManager has a master already; give one of them"
        )
    configured = options.MASTER.get(config)
    is_there = configured.startswith(("http://", "https://"))
    if address is None and (is_there or not detached):
        return configured if is_there else None
    if detached and master is not None:
        raise typer.BadParameter(
            f"--detached: a job on {master!r} would end with this process; name a JobManager with -m"
        )
    from riverrun.cli.job_managers import job_manager  # noqa: PLC0415  (for the network)

    return job_manager(address, config, os.environ).url


@contextmanager
def _told(place: str | None, *, as_json: bool, ui: bool) -> Iterator[None]:
    """In this block, ids of jobs that were sent to the JobManager at ``place`` are printed."""
    if place is None:
        yield
        return
    # These load the program side, which the script needs too.
    from riverrun.cli.shown import show_json  # noqa: PLC0415
    from riverrun.cli.submitted import announced  # noqa: PLC0415

    def tell(job: RunningJob) -> None:
        if as_json:
            show_json({"job_id": str(job.job_id), "name": job.name})
        else:
            # Scripts that parse the output of Flink's command find the id in this line.
            typer.echo(f"Job has been submitted with JobID {job.job_id}")
        if ui:
            page = f"{place}/#/jobs/{job.job_id}"
            typer.echo(f"Web page: {page}", err=True)
            open_page(page)

    with announced(tell):
        yield


def _looked_up(
    given: list[Setting],
    config: Mapping[str, str],
    from_checkpoint: str | None,
    *,
    resume: bool,
    is_here: bool,
) -> list[Setting]:
    """The settings with what only the checkpoints themselves can tell."""
    # Reads checkpoints, which few runs need.
    from riverrun.cli.starting_point import (  # noqa: PLC0415
        checkpoint_to_start_from,
        job_to_resume,
    )

    found = {setting.key: setting for setting in given}
    if from_checkpoint is not None:
        origin = Origin(Source.COMMAND_LINE, "--from-checkpoint")
        place = checkpoint_to_start_from(from_checkpoint, is_here=is_here)
        found[options.RESTORE_PATH.key] = Setting(options.RESTORE_PATH.key, place, origin)
    if resume and not options.JOB_ID.is_set(config):
        origin = Origin(Source.COMMAND_LINE, "--resume")
        job = job_to_resume(config)
        found[options.JOB_ID.key] = Setting(options.JOB_ID.key, job, origin)
    return list(found.values())
