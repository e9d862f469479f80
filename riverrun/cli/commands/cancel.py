"""``river cancel`` and ``river stop``: the end of a job, without and with a savepoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.exit_codes import FAILED
from riverrun.cli.session_arguments import Address, AsJson, Asked, Detached, Job, matching_jobs

if TYPE_CHECKING:
    from riverrun.client.job_manager import JobManagerClient
    from riverrun.core.lifecycle import JobStatus
    from riverrun.rest.bodies.jobs import JobDetails

OneJob: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB",
        help="A job: its id, the beginning of its id, or its name.",
        autocompletion=matching_jobs,
    ),
]
WithSavepoint: TypeAlias = Annotated[
    bool, typer.Option("--withSavepoint", "--with-savepoint", "-s", hidden=True)
]
Drain: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--drain",
        "-d",
        help="Bring event time to its end first, so that all windows and timers fire: the job shall "
        "not be gone on with.",
    ),
]
SavepointPath: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--savepointPath",
        "--savepoint-path",
        "-p",
        metavar="DIR",
        help="The folder for the savepoint; without it: execution.checkpointing.savepoint-dir of the job.",
    ),
]


def cancel(  # noqa: PLR0913  (a command's options)
    job: OneJob,
    *,
    with_savepoint: WithSavepoint = False,
    detached: Detached = False,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Cancel a job at once, without a savepoint; exit code 1 if it ended in another way."""
    from riverrun.cli.shown import tell_of_job  # noqa: PLC0415
    from riverrun.core.ids import JobId  # noqa: PLC0415

    if with_savepoint:
        raise typer.BadParameter(
            "a job is not cancelled with a savepoint any more; stop it with one: "
            "river stop --savepointPath DIR JOB"
        )
    if len(job) != 1:
        raise typer.BadParameter(f"expected one job, got {len(job)}: {' '.join(job)}")
    with Asked.of(address, define, config_file) as asked:
        client, found = asked.job(job[0])
        _check_is_alive(found)
        client.cancel(JobId(found.jid))
        if detached:
            tell_of_job(found, f"Cancelling job {found.jid}.", as_json=as_json, status="CANCELLING")
            return
        status = _end_of(client, found, f"cancelling job {found.name!r}")
        tell_of_job(found, f"Cancelled job {found.jid}.", as_json=as_json, status=status.value)
        if status.value != "CANCELED":
            typer.echo(f"job {found.name!r} ended by itself before: {status.value}", err=True)
            raise typer.Exit(FAILED)


def stop(  # noqa: PLR0913  (a command's options)
    job: Job,
    *,
    drain: Drain = False,
    savepoint_path: SavepointPath = None,
    detached: Detached = False,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Stop a job with a savepoint, from which it can go on later."""
    from riverrun.cli.shown import tell_of_job, waiting  # noqa: PLC0415
    from riverrun.core.ids import JobId  # noqa: PLC0415

    with Asked.of(address, define, config_file) as asked:
        client, found = asked.job(job)
        _check_is_alive(found)
        taken = client.stop(JobId(found.jid), savepoint_path, drain=drain)
        if detached:
            words = f"Stopping job {found.jid} with a savepoint."
            tell_of_job(found, words, as_json=as_json, status=found.state)
            return
        with waiting(f"stopping job {found.name!r} with a savepoint"):
            place = taken.result()
        status = _end_of(client, found, f"job {found.name!r} ends")
        words = f"Stopped job {found.jid}.\nSavepoint completed. Path: {place}"
        tell_of_job(found, words, as_json=as_json, status=status.value, savepoint=place)


def _check_is_alive(job: JobDetails) -> None:
    from riverrun.cli.job_names import NoSuchJob, has_ended  # noqa: PLC0415

    if has_ended(job):
        raise NoSuchJob(f"job {job.name!r} ({job.jid}): is {job.state} already")


def _end_of(client: JobManagerClient, job: JobDetails, title: str) -> JobStatus:
    from riverrun.cli.shown import waiting  # noqa: PLC0415
    from riverrun.client.remote_job import RemoteJob  # noqa: PLC0415
    from riverrun.core.ids import JobId  # noqa: PLC0415

    with waiting(title):
        return RemoteJob(client, JobId(job.jid), job.name, {}).wait()
