"""Which JobManager a command talks to."""

from __future__ import annotations

from collections.abc import Mapping

from riverrun.client.job_manager import JobManagerClient
from riverrun.core import cluster_options, options
from riverrun.core.errors import ConfigError, ExternalError
from riverrun.jobmanager.local_clusters import LocalCluster, local_clusters


class NoJobManager(ExternalError):  # noqa: N818
    """Nobody said which JobManager, and none runs on this machine."""


def job_manager(
    address: str | None, config: Mapping[str, str], environ: Mapping[str, str]
) -> JobManagerClient:
    """The JobManager that is meant.

    Args:
        address: what ``-m`` says.
        config: the command's settings.
        environ: the environment variables.

    Raises:
        NoJobManager: none is named, and none runs on this machine.
        ConfigError: the address is none, or several run on this machine.
    """
    found = known_job_manager(address, config, environ)
    if found is None:
        raise NoJobManager(
            f"JobManager: none is named, and none of yours runs on this machine; start one with river "
            f"cluster start -d, or name one with -m host:port or {cluster_options.REST_ADDRESS.key!r}"
        )
    return found


def known_job_manager(
    address: str | None, config: Mapping[str, str], environ: Mapping[str, str]
) -> JobManagerClient | None:
    """The JobManager that is meant, if there is one: named, configured, or running on this machine."""
    place = address or configured_address(config)
    if place is None:
        running = local_clusters(environ)
        if not running:
            return None
        place = only_one(running).url
    return JobManagerClient.at(place, config)


def configured_address(config: Mapping[str, str]) -> str | None:
    """Where the configuration says that the JobManager is, if it says so."""
    master = options.MASTER.get(config)
    if master.startswith(("http://", "https://")):
        return master
    if cluster_options.REST_ADDRESS.is_set(config) or cluster_options.REST_PORT.is_set(config):
        host = cluster_options.REST_ADDRESS.get(config)
        return f"[{host}]" if ":" in host else host
    return None


def only_one(running: list[LocalCluster]) -> LocalCluster:
    """The one JobManager of this machine; ConfigError when there are several."""
    if len(running) > 1:
        places = "".join(f"\n  -m {each.url.partition('://')[2]}" for each in running)
        raise ConfigError(
            f"JobManager: {len(running)} of yours run on this machine; say which:{places}"
        )
    return running[0]
