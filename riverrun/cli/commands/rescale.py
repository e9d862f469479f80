"""``river rescale``: let a running job go on with another parallelism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions
from riverrun.cli.session_arguments import Address, AsJson, Asked, Job

if TYPE_CHECKING:
    from riverrun.rest.bodies.jobs import JobDetail

Wanted: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--parallelism",
        "-p",
        min=1,
        help="The parallelism of every vertex whose own the program leaves open.",
    ),
]
Vertices: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--vertex",
        "-v",
        metavar="NAME=N",
        help="The parallelism of one vertex, by uid, name of an operator, or id; may be repeated.",
    ),
]


def rescale(  # noqa: PLR0913  (a command's options)
    job: Job,
    *,
    parallelism: Wanted = None,
    vertex: Vertices = None,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Let a running job go on with another parallelism; returns when it runs so."""
    from riverrun.cli.shown import show_json, show_table, waiting  # noqa: PLC0415
    from riverrun.core.ids import JobId  # noqa: PLC0415

    if (parallelism is None) == (not vertex):
        raise typer.BadParameter("expected --parallelism N, or --vertex NAME=N, and not both")
    wish = parallelism if parallelism is not None else _parallelisms(vertex or ())
    with Asked.of(address, define, config_file) as asked:
        client, found = asked.job(job)
        number = JobId(found.jid)
        before = client.job(number)
        with waiting(f"rescaling job {found.name!r}"):
            client.rescale(number, wish).result()
        changes = _changes(before, client.job(number))
        if as_json:
            vertices = [
                {"id": id_, "name": name, "before": old, "after": new}
                for id_, name, old, new in changes
            ]
            show_json({"job_id": found.jid, "name": found.name, "vertices": vertices})
            return
        typer.echo(f"Rescaled job {found.jid}.")
        rows = [(name, str(old), str(new)) for _, name, old, new in changes]
        show_table(("vertex", "before", "now"), rows)


def _parallelisms(texts: Sequence[str]) -> dict[str, int]:
    wanted: dict[str, int] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name or not number.isdecimal() or int(number) < 1:
            raise typer.BadParameter(f"--vertex {text!r}: expected NAME=N with a number from 1")
        if wanted.setdefault(name, int(number)) != int(number):
            raise typer.BadParameter(f"--vertex {name!r}: is given with two parallelisms")
    return wanted


def _changes(before: JobDetail, now: JobDetail) -> list[tuple[str, str, int, int]]:
    """Id, name, parallelism before and now of each vertex."""
    old = {vertex.id: vertex.parallelism for vertex in before.vertices}
    return [
        (vertex.id, vertex.name, old.get(vertex.id, vertex.parallelism), vertex.parallelism)
        for vertex in now.vertices
    ]
