"""``river savepoint`` and ``river checkpoint``: what a running job holds, written down now."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.session_arguments import Address, AsJson, Asked, Detached, Job, MaybeJob

Folder: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="DIR",
        help="The folder for the savepoint; without it: execution.checkpointing.savepoint-dir of the job.",
    ),
]
Disposed: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dispose",
        "-d",
        metavar="PATH",
        help="Delete this savepoint: all its own files, and no others.",
    ),
]


def savepoint(  # noqa: PLR0913  (a command's options)
    job: MaybeJob = None,
    folder: Folder = None,
    *,
    dispose: Disposed = None,
    detached: Detached = False,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Take a savepoint of a running job, or delete a savepoint that nobody will start from any more."""
    if (job is None) == (dispose is None):
        raise typer.BadParameter("expected a job, or --dispose PATH, and not both")
    with Asked.of(address, define, config_file) as asked:
        if dispose is not None:
            _dispose(asked, dispose, as_json=as_json)
        elif job is not None:
            _take(asked, job, folder, detached=detached, as_json=as_json)


def checkpoint(
    job: Job,
    *,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Take a checkpoint of a running job now, beside the periodic ones."""
    from riverrun.cli.shown import tell_of_job, waiting  # noqa: PLC0415
    from riverrun.core.ids import JobId  # noqa: PLC0415

    with Asked.of(address, define, config_file) as asked:
        client, found = asked.job(job)
        with waiting(f"taking a checkpoint of job {found.name!r}"):
            place = client.checkpoint(JobId(found.jid)).result()
        words = f"Checkpoint completed. Path: {place}"
        tell_of_job(found, words, as_json=as_json, checkpoint=place)


def _take(asked: Asked, word: str, folder: str | None, *, detached: bool, as_json: bool) -> None:
    from riverrun.cli.shown import tell_of_job, waiting  # noqa: PLC0415
    from riverrun.core.ids import JobId  # noqa: PLC0415

    client, found = asked.job(word)
    taken = client.savepoint(JobId(found.jid), folder)
    if detached:
        tell_of_job(found, f"Taking a savepoint of job {found.jid}.", as_json=as_json)
        return
    with waiting(f"taking a savepoint of job {found.name!r}"):
        place = taken.result()
    words = f"Savepoint completed. Path: {place}"
    tell_of_job(found, words, as_json=as_json, savepoint=place)


def _dispose(asked: Asked, path: str, *, as_json: bool) -> None:
    from riverrun.cli.shown import show_json, waiting  # noqa: PLC0415

    place = path if "://" in path else os.path.abspath(path)  # noqa: PTH100
    client = asked.known_client()
    if client is None:
        words = _dispose_here(asked, place)
    else:
        with waiting(f"deleting savepoint {place}"):
            client.dispose(place).result()
        words = f"deleted savepoint in {place}"
    if as_json:
        show_json({"disposed": place})
    else:
        typer.echo(words)


def _dispose_here(asked: Asked, place: str) -> str:
    from riverrun.checkpoint.savepoint_store import dispose_savepoint  # noqa: PLC0415
    from riverrun.storage.open import open_storage  # noqa: PLC0415

    metadata = dispose_savepoint(open_storage(place, asked.config), place).metadata
    return f"deleted savepoint {metadata.checkpoint} of job {metadata.job_name!r} in {place}"
