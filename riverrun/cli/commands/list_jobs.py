"""``river list``: the jobs of a JobManager."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.session_arguments import Address, AsJson, Asked

if TYPE_CHECKING:
    from riverrun.rest.bodies.jobs import JobDetails

_SCHEDULED: Final = ("INITIALIZING", "CREATED")
_ENDED: Final = ("FINISHED", "CANCELED", "FAILED")

All: TypeAlias = Annotated[bool, typer.Option("--all", "-a", help="Also jobs that ended.")]
Running: TypeAlias = Annotated[bool, typer.Option("--running", "-r", help="Only jobs that run.")]
Scheduled: TypeAlias = Annotated[
    bool, typer.Option("--scheduled", "-s", help="Only jobs that were accepted and do not run yet.")
]


def list_jobs(  # noqa: PLR0913  (a command's options)
    *,
    everything: All = False,
    running: Running = False,
    scheduled: Scheduled = False,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """List the jobs of a JobManager, newest first: those that run or wait to run."""
    from riverrun.cli.shown import moment, show_json, show_table, span  # noqa: PLC0415

    wanted = _filter(everything=everything, running=running, scheduled=scheduled)
    with Asked.of(address, define, config_file) as asked:
        client = asked.client()
        jobs = [job for job in client.jobs().jobs if wanted(job.state)]
    if as_json:
        show_json({"jobs": [_as_json(job) for job in jobs]})
        return
    if not jobs:
        hint = "" if everything else "; river list -a shows also those that ended"
        typer.echo(f"no such jobs at {client.url}{hint}")
        return
    rows = [
        (job.jid, job.name, job.state, moment(job.start_time), span(job.duration), _tasks(job))
        for job in jobs
    ]
    show_table(("id", "name", "status", "started", "for", "tasks"), rows)


def _filter(*, everything: bool, running: bool, scheduled: bool) -> Callable[[str], bool]:
    if everything:
        return lambda _: True
    if running == scheduled:
        return lambda status: status not in _ENDED
    if scheduled:
        return lambda status: status in _SCHEDULED
    return lambda status: status not in _ENDED and status not in _SCHEDULED


def _tasks(job: JobDetails) -> str:
    counts = {name.lower(): count for name, count in job.tasks.items()}
    if job.state in _ENDED:
        return str(counts.get("total", 0))
    return f"{counts.get('running', 0)} of {counts.get('total', 0)} run"


def _as_json(job: JobDetails) -> dict[str, Any]:
    return {
        "id": job.jid,
        "name": job.name,
        "status": job.state,
        "start_time": job.start_time,
        "end_time": job.end_time,
        "duration_ms": job.duration,
        "tasks": job.tasks,
    }
