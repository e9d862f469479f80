"""``river logs``: what a JobManager or a task manager wrote."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.session_arguments import Address, AsJson, Asked, MaybeJob

TaskManager: TypeAlias = Annotated[
    str | None,
    typer.Option("--taskmanager", "-t", metavar="ID", help="The log of this task manager."),
]
Name: TypeAlias = Annotated[
    str | None, typer.Option("--file", metavar="NAME", help="This one of the log files.")
]
Listed: TypeAlias = Annotated[bool, typer.Option("--list", "-l", help="Only list the log files.")]
Follow: TypeAlias = Annotated[
    bool,
    typer.Option("--follow", "-f", help="Go on with what is written from now on, until Ctrl-C."),
]


def logs(  # noqa: PLR0913  (a command's options)
    job: MaybeJob = None,
    *,
    task_manager: TaskManager = None,
    name: Name = None,
    listed: Listed = False,
    follow: Follow = False,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the log of the JobManager, of a job, or of a task manager."""
    from riverrun.cli.log_files import LogFiles, show_log  # noqa: PLC0415
    from riverrun.cli.shown import moment, show_json, show_table  # noqa: PLC0415

    if job is not None and task_manager is not None:
        raise typer.BadParameter("expected a job or --taskmanager, and not both")
    with Asked.of(address, define, config_file) as asked:
        if job is None:
            files = LogFiles(asked.client(), task_manager)
        else:
            client, found = asked.job(job)
            files = LogFiles(client, None, found)
        if listed or as_json:
            entries = files.entries()
            if as_json:
                show_json(
                    {"logs": [{"name": e.name, "size": e.size, "mtime": e.mtime} for e in entries]}
                )
            else:
                rows = [(e.name, f"{e.size:,}", moment(e.mtime)) for e in entries]
                show_table(("file", "bytes", "written"), rows)
            return
        show_log(files, name, follow=follow)
