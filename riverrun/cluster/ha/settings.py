"""High availability as the configuration has it; what cannot work is refused in words."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from riverrun.cluster.ha.election import Timing
from riverrun.core import ha_options as options
from riverrun.core.config_options import ConfigOption
from riverrun.core.errors import ConfigError
from riverrun.core.time import Duration
from riverrun.storage.open import absolute_location

_ID: Final = re.compile(r"/?[0-9A-Za-z][\w.-]*(?:/[0-9A-Za-z][\w.-]*)*/?", re.ASCII)
_KUBERNETES_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,198}[a-z0-9])?")
_SERVER: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class HaSettings:
    """What was set, checked."""

    type: str
    """``filesystem``, ``zookeeper`` or ``kubernetes``."""
    cluster: str
    folder: str
    """Where this cluster keeps its jobs, and its lease if the type is ``filesystem``."""
    timing: Timing
    quorum: str = ""
    node: str = ""
    """The node of ZooKeeper that keeps the lease."""


def ha_settings(config: Mapping[str, str]) -> HaSettings | None:
    """What ``config`` says; ``None`` when there is to be no high availability.

    Raises:
        ConfigError: something is missing, or does not fit together.
    """
    kind = options.HA_TYPE.get(config)
    if kind == "none":
        return None
    place = options.HA_STORAGE_DIR.get(config)
    if place is None:
        raise ConfigError(
            f"option {options.HA_TYPE.key!r} is {kind!r} and {options.HA_STORAGE_DIR.key!r} is not set; "
            f"set it to a folder or an address such as 's3://bucket/riverrun' that every JobManager reaches"
        )
    cluster = _cluster(config, kind)
    return HaSettings(
        type=kind,
        cluster=cluster,
        folder=f"{absolute_location(place)}/{cluster}",
        timing=_timing(config, kind),
        quorum=_quorum(config) if kind == "zookeeper" else "",
        node=_node(config, cluster) if kind == "zookeeper" else "",
    )


def _cluster(config: Mapping[str, str], kind: str) -> str:
    text = options.HA_CLUSTER_ID.get(config)
    if _ID.fullmatch(text) is None or ".." in text:
        raise ConfigError(
            f"option {options.HA_CLUSTER_ID.key!r}: is {text!r}; expected letters, digits, '-', '_' and '.', "
            f"in parts separated by '/'"
        )
    cluster = text.strip("/")
    if kind == "kubernetes" and _KUBERNETES_ID.fullmatch(cluster) is None:
        raise ConfigError(
            f"option {options.HA_CLUSTER_ID.key!r}: is {text!r}; on Kubernetes it is part of the name of a "
            f"Lease, so expected small letters, digits, '-' and '.' only"
        )
    return cluster


def _timing(config: Mapping[str, str], kind: str) -> Timing:
    lease_key, lease = _time(
        config, kind, options.HA_LEASE_DURATION, options.HA_KUBERNETES_LEASE_DURATION
    )
    renew_key, renew = _time(
        config, kind, options.HA_RENEW_DEADLINE, options.HA_KUBERNETES_RENEW_DEADLINE
    )
    retry_key, retry = _time(
        config, kind, options.HA_RETRY_PERIOD, options.HA_KUBERNETES_RETRY_PERIOD
    )
    _in_order(renew_key, renew, lease_key, lease, "a leader must stop before another one begins")
    _in_order(
        retry_key, retry, renew_key, renew, "a leader must be able to renew its lease in time"
    )
    if retry.to_millis() < 1:
        raise ConfigError(f"option {retry_key!r}: is {str(retry)!r}; expected 1 ms or more")
    return Timing(lease.to_millis(), renew.to_millis(), retry.to_millis())


def _time(
    config: Mapping[str, str],
    kind: str,
    general: ConfigOption[Duration],
    on_kubernetes: ConfigOption[Duration | None],
) -> tuple[str, Duration]:
    own = on_kubernetes.get(config) if kind == "kubernetes" else None
    return (general.key, general.get(config)) if own is None else (on_kubernetes.key, own)


def _in_order(low_key: str, low: Duration, high_key: str, high: Duration, why: str) -> None:
    if low >= high:
        raise ConfigError(
            f"option {low_key!r}: is {str(low)!r}; expected less than {high_key!r}, which is "
            f"{str(high)!r}: {why}"
        )


def _quorum(config: Mapping[str, str]) -> str:
    if importlib.util.find_spec("kazoo") is None:
        raise ConfigError(
            f"option {options.HA_TYPE.key!r} is 'zookeeper' and the package kazoo is not installed; "
            f"install riverrun[zookeeper]"
        )
    text = options.HA_ZOOKEEPER_QUORUM.get(config)
    if text is None:
        raise ConfigError(
            f"option {options.HA_TYPE.key!r} is 'zookeeper' and {options.HA_ZOOKEEPER_QUORUM.key!r} is not "
            f"set; set it to the servers, such as 'zoo1:2181,zoo2:2181,zoo3:2181'"
        )
    servers = [server.strip() for server in text.split(",")]
    if not all(_SERVER.fullmatch(server) for server in servers):
        raise ConfigError(
            f"option {options.HA_ZOOKEEPER_QUORUM.key!r}: is {text!r}; expected servers such as "
            f"'zoo1:2181,zoo2:2181'"
        )
    return ",".join(servers)


def _node(config: Mapping[str, str], cluster: str) -> str:
    root = options.HA_ZOOKEEPER_ROOT.get(config)
    if not root.startswith("/") or ".." in root or "//" in root:
        raise ConfigError(
            f"option {options.HA_ZOOKEEPER_ROOT.key!r}: is {root!r}; expected the path of a node such as "
            f"'/riverrun'"
        )
    return f"{root.rstrip('/')}/{cluster}/leader"
