"""``river cluster``: a JobManager for jobs of many programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from riverrun.cli.arguments import ConfigFile, Definitions, SparkMaster
from riverrun.cli.program_settings import command_line, effective_settings
from riverrun.cli.session_arguments import Address, AsJson, Asked
from riverrun.core import cluster_options, options

if TYPE_CHECKING:
    from riverrun.client.job_manager import JobManagerClient
    from riverrun.jobmanager.local_clusters import LocalCluster
    from riverrun.rest.bodies.cluster import ClusterOverview

cluster = typer.Typer(
    name="cluster",
    help="Start, end and look at a JobManager for jobs of many programs.",
    no_args_is_help=True,
)

Host: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The address to serve on; loopback without it."),
]
Port: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="PORT", help="The port, or ports such as 8081-8090; 0: any. 8081 without it."
    ),
]
InBackground: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--detached", "-d", help="Leave it behind as a process of its own; returns when it serves."
    ),
]
LogFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where one in the background writes to."),
]
Patience: TypeAlias = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=1, help="How long to wait for it.")
]


@cluster.command("start")
def start(  # noqa: PLR0913  (a command's options)
    *,
    master: SparkMaster = None,
    host: Host = None,
    port: Port = None,
    detached: InBackground = False,
    log_file: LogFile = None,
    timeout: Patience = 120,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Run a JobManager with a Spark application of its own, until Ctrl-C or river cluster stop."""
    # These load the whole engine.
    from riverrun.cli.detached_cluster import StandsBy, check_is_free, start_detached  # noqa: PLC0415
    from riverrun.cli.shown import waiting  # noqa: PLC0415

    words = {
        cluster_options.REST_BIND_ADDRESS.key: ("--host", host),
        cluster_options.REST_BIND_PORT.key: ("--port", port),
    }
    named = {key: (name, value) for key, (name, value) in words.items() if value is not None}
    given = command_line(master, None, define or (), named)
    config = effective_settings(given, config_file).values()
    _check_has_spark(options.MASTER.get(config))
    check_is_free(config, os.environ)
    if not detached:
        from riverrun.jobmanager.process import log_to_stderr, run_job_manager  # noqa: PLC0415

        log_to_stderr()
        run_job_manager(config, lambda found: _tell_start(found, as_json=as_json))
        return
    try:
        with waiting("starting a JobManager"):
            found = start_detached(config, os.environ, log_file=log_file, timeout_s=timeout)
    except StandsBy as e:
        typer.echo(str(e), err=True)
        return
    _tell_start(found, as_json=as_json)


def _check_has_spark(master: str) -> None:
    from riverrun.graph.executors import runs_on_spark  # noqa: PLC0415  (for starting only)

    if not runs_on_spark(master):
        raise typer.BadParameter(
            f"option {options.MASTER.key!r}: is {master!r}, but a JobManager runs its jobs on Spark; expected "
            f"local[N], spark://host:port, yarn or k8s://..."
        )


@cluster.command("stop")
def stop(
    *,
    address: Address = None,
    timeout: Patience = 60,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """End a JobManager: its jobs are cancelled, and its Spark application ends."""
    from riverrun.cli.detached_cluster import await_end, end_process  # noqa: PLC0415
    from riverrun.cli.shown import show_json, waiting  # noqa: PLC0415

    with Asked.of(address, define, config_file) as asked:
        client = asked.client()
        local = _local(client)
        with waiting(f"ending the JobManager {client.url}"):
            if address is None and local is not None:
                end_process(local, timeout)
            else:
                client.connection.send("DELETE", "/cluster")
                if local is not None:
                    await_end(local, timeout)
    if as_json:
        show_json({"url": client.url, "pid": None if local is None else local.pid})
    else:
        typer.echo(f"JobManager {client.url} {'ends' if local is None else 'ended'}")


@cluster.command("status")
def status(
    *,
    address: Address = None,
    as_json: AsJson = False,
    define: Definitions = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a JobManager: where it is, its slots and jobs; exit code 3 if there is none."""
    from riverrun.cli.shown import show_json, show_table  # noqa: PLC0415

    with Asked.of(address, define, config_file) as asked:
        client = asked.client()
        facts = _facts(client.url, client.overview(), _local(client))
    if as_json:
        show_json(facts)
    else:
        rows = [
            (name.replace("_", " "), str(value))
            for name, value in facts.items()
            if value is not None
        ]
        show_table(("", ""), rows)


def _local(client: JobManagerClient) -> LocalCluster | None:
    """The process of a JobManager, if it is one of this user's on this machine."""
    from riverrun.client.connection import Endpoint  # noqa: PLC0415
    from riverrun.jobmanager.local_clusters import local_clusters  # noqa: PLC0415

    asked = client.connection.endpoint
    for each in local_clusters(os.environ):
        there = Endpoint.of(each.url, {})
        is_here = asked.host in ("localhost", "127.0.0.1", "::1", there.host)
        if is_here and asked.port == there.port:
            return each
    return None


def _facts(url: str, seen: ClusterOverview, local: LocalCluster | None) -> dict[str, Any]:
    return {
        "url": url,
        "version": seen.flink_version,
        "master": None if local is None else local.master,
        "pid": None if local is None else local.pid,
        "log": None if local is None else local.log,
        "task_managers": seen.taskmanagers,
        "slots_total": seen.slots_total,
        "slots_free": seen.slots_available,
        "jobs_running": seen.jobs_running,
        "jobs_finished": seen.jobs_finished,
        "jobs_cancelled": seen.jobs_cancelled,
        "jobs_failed": seen.jobs_failed,
    }


def _tell_start(found: LocalCluster, *, as_json: bool) -> None:
    from riverrun.cli.shown import show_json  # noqa: PLC0415

    if as_json:
        show_json({"url": found.url, "pid": found.pid, "master": found.master, "log": found.log})
    elif found.log is None:
        typer.echo(f"JobManager serves at {found.url} (master {found.master}); Ctrl-C ends it")
    else:
        typer.echo(
            f"JobManager serves at {found.url} (master {found.master}, process {found.pid})\n"
            f"log: {found.log}"
        )
