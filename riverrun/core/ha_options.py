"""Options of high availability: who keeps the lease of the leading JobManager, and where jobs are kept."""

from __future__ import annotations

from typing import Final

from riverrun.core.config_options import DURATION, STRING, ConfigOption, choice, optional
from riverrun.core.time import Duration

HA_TYPE: Final = ConfigOption(
    "high-availability.type",
    choice("none", "filesystem", "zookeeper", "kubernetes"),
    "none",
    "what keeps the lease of the leading JobManager; none: one JobManager, and nobody takes its place",
    ("high-availability",),
)
HA_STORAGE_DIR: Final = ConfigOption(
    "high-availability.storageDir",
    optional(STRING),
    None,
    "a folder or address that every JobManager reaches; jobs are kept there, "
    "and the lease if the type is filesystem",
    ("high-availability.zookeeper.storageDir",),
)
HA_CLUSTER_ID: Final = ConfigOption(
    "high-availability.cluster-id",
    STRING,
    "/default",
    "JobManagers with the same id stand in for each other",
)

# the lease
HA_LEASE_DURATION: Final = ConfigOption(
    "riverrun.high-availability.lease-duration",
    DURATION,
    Duration.of_seconds(8),
    "a standby takes over when the leader has shown no life for so long",
)
HA_RENEW_DEADLINE: Final = ConfigOption(
    "riverrun.high-availability.renew-deadline",
    DURATION,
    Duration.of_seconds(6),
    "a leader that could not renew its lease for so long stops to be one; shorter than the duration, "
    "and clocks may differ in speed by as much",
)
HA_RETRY_PERIOD: Final = ConfigOption(
    "riverrun.high-availability.retry-period",
    DURATION,
    Duration.of_seconds(1),
    "how often the leader renews its lease, and how often a standby looks at it",
)

# ZooKeeper
HA_ZOOKEEPER_QUORUM: Final = ConfigOption(
    "high-availability.zookeeper.quorum",
    optional(STRING),
    None,
    "the servers, as host:port,host:port",
)
HA_ZOOKEEPER_ROOT: Final = ConfigOption(
    "high-availability.zookeeper.path.root",
    STRING,
    "/riverrun",
    "the node below which every cluster has its own",
)
HA_ZOOKEEPER_CONNECTION_TIMEOUT: Final = ConfigOption(
    "high-availability.zookeeper.client.connection-timeout",
    DURATION,
    Duration.of_seconds(15),
    "how long to wait for a first connection to ZooKeeper",
)
HA_ZOOKEEPER_SESSION_TIMEOUT: Final = ConfigOption(
    "high-availability.zookeeper.client.session-timeout",
    DURATION,
    Duration.of_seconds(60),
    "of the connection to ZooKeeper; leadership follows the lease, not the session",
)

# Kubernetes
HA_KUBERNETES_LEASE_DURATION: Final = ConfigOption(
    "high-availability.kubernetes.leader-election.lease-duration",
    optional(DURATION),
    None,
    "on Kubernetes, in place of riverrun.high-availability.lease-duration",
)
HA_KUBERNETES_RENEW_DEADLINE: Final = ConfigOption(
    "high-availability.kubernetes.leader-election.renew-deadline",
    optional(DURATION),
    None,
    "on Kubernetes, in place of riverrun.high-availability.renew-deadline",
)
HA_KUBERNETES_RETRY_PERIOD: Final = ConfigOption(
    "high-availability.kubernetes.leader-election.retry-period",
    optional(DURATION),
    None,
    "on Kubernetes, in place of riverrun.high-availability.retry-period",
)
KUBERNETES_NAMESPACE: Final = ConfigOption(
    "kubernetes.namespace",
    optional(STRING),
    None,
    "where the Lease is; the pod's own namespace if not set",
)
HA_KUBERNETES_API: Final = ConfigOption(
    "riverrun.high-availability.kubernetes.api-server",
    optional(STRING),
    None,
    "such as https://10.0.0.1:443; from the pod's environment if not set",
)
HA_KUBERNETES_ACCOUNT: Final = ConfigOption(
    "riverrun.high-availability.kubernetes.service-account",
    STRING,
    "/var/run/secrets/kubernetes.io/serviceaccount",
    "the folder with the files token, ca.crt and namespace",
)
