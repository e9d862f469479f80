"""Arguments of the commands that talk to a JobManager, and what they mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self, TypeAlias

import typer

from riverrun.cli.program_settings import command_settings
from riverrun.core.errors import RiverrunError

if TYPE_CHECKING:
    from riverrun.client.job_manager import JobManagerClient
    from riverrun.rest.bodies.jobs import JobDetails


def matching_jobs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Ids and names of running jobs that begin so, for the shell's completion."""
    from riverrun.cli.job_names import has_ended  # noqa: PLC0415

    given = context.params
    try:
        with Asked.of(given.get("address"), given.get("define"), given.get("config_file")) as asked:
            running = [job for job in asked.client().jobs().jobs if not has_ended(job)]
    except RiverrunError:
        return []  # nobody to ask: the shell has nothing to offer
    ids = [(job.jid, job.name) for job in running if job.jid.startswith(incomplete)]
    names = [(job.name, job.jid) for job in running if job.name.startswith(incomplete)]
    return [*ids, *names] if incomplete else ids


Job: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="A job: its id, the beginning of its id, or its name.",
        autocompletion=matching_jobs,
    ),
]
MaybeJob: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="JOB",
        help="A job: its id, the beginning of its id, or its name.",
        autocompletion=matching_jobs,
    ),
]
Address: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--jobmanager",
        "-m",
        metavar="HOST:PORT",
        help="The JobManager; without it: rest.address and rest.port of the configuration, or the one "
        "that runs on this machine.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Detached: TypeAlias = Annotated[
    bool, typer.Option("--detached", help="Return at once, without waiting for the end.")
]


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom a command asks, and with which settings; what it opened is closed at the end of its block."""

    address: str | None
    config: dict[str, str]
    _opened: ExitStack = field(default_factory=ExitStack)

    @staticmethod
    def of(address: str | None, define: Sequence[str] | None, config_file: Path | None) -> Asked:
        """From a command's options; ConfigError."""
        return Asked(address, command_settings(define, config_file))

    def client(self) -> JobManagerClient:
        """The JobManager; NoJobManager, ConfigError."""
        # Commands start fast, and these are for the network.
        from riverrun.cli.job_managers import job_manager  # noqa: PLC0415

        return self._closed_later(job_manager(self.address, self.config, os.environ))

    def known_client(self) -> JobManagerClient | None:
        """The JobManager, if one is known; ConfigError."""
        from riverrun.cli.job_managers import known_job_manager  # noqa: PLC0415

        found = known_job_manager(self.address, self.config, os.environ)
        return None if found is None else self._closed_later(found)

    def job(self, word: str) -> tuple[JobManagerClient, JobDetails]:
        """The JobManager and one of its jobs; NoSuchJob beside the errors of ``client``."""
        from riverrun.cli.job_names import job_named  # noqa: PLC0415

        client = self.client()
        return client, job_named(word, client.jobs().jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._opened.close()

    def _closed_later(self, client: JobManagerClient) -> JobManagerClient:
        self._opened.callback(client.connection.close)
        return client
