"""All that makes a JobManager replaceable, from the configuration: its lease, its jobs, its election."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from riverrun.cluster.ha.file_lease import FileLease
from riverrun.cluster.ha.job_store import JobStore
from riverrun.cluster.ha.kubernetes_lease import KubernetesLease, pod_access
from riverrun.cluster.ha.lease import LeaseStore
from riverrun.cluster.ha.service import Leader, LeaderElection, LeaderListener, leader_of
from riverrun.cluster.ha.settings import HaSettings, ha_settings
from riverrun.cluster.ha.zookeeper_lease import ZooKeeperLease
from riverrun.core import ha_options
from riverrun.core.clock import SystemClock
from riverrun.core.options import S3_ATTEMPTS, S3_CONNECT_TIMEOUT, S3_REQUEST_TIMEOUT
from riverrun.core.time import Duration
from riverrun.storage.exclusive import open_exclusive_storage
from riverrun.storage.open import open_storage


def high_availability(config: Mapping[str, str]) -> HighAvailability | None:
    """What ``config`` asks for; ``None`` when it asks for nothing. Nothing is connected or written yet.

    Raises:
        ConfigError: something is missing, or does not fit together.
    """
    settings = ha_settings(config)
    return None if settings is None else HighAvailability(settings, config)


class HighAvailability:
    """What JobManagers of one cluster share.

    ha = high_availability(config)
    election = ha.elect(listener, "http://this-host:8081")
    election.start()
    # on_elected(epoch): recovered = ha.job_store.take_over(epoch)
    """

    def __init__(self, settings: HaSettings, config: Mapping[str, str]) -> None:
        self._settings = settings
        self._config = config
        self.job_store = JobStore(
            open_storage(settings.folder, config), f"{settings.folder}/store", SystemClock().now
        )
        """Empty hands until somebody is elected: see ``JobStore.take_over``."""
        self.leases()  # Refuses what cannot work, and connects nothing.

    @property
    def settings(self) -> HaSettings:
        """What was set."""
        return self._settings

    def leases(self) -> LeaseStore:
        """The store of the lease; each call makes one, to be closed."""
        timing, kind = self._settings.timing, self._settings.type
        # Within the time that a leader has, there must be time for a second try.
        patience_s = timing.renew_ms / 2000
        match kind:
            case "filesystem":
                folder = f"{self._settings.folder}/lease"
                storage = open_exclusive_storage(folder, _in_a_hurry(self._config, patience_s))
                return FileLease(storage, folder, duration_ms=timing.lease_ms)
            case "zookeeper":
                return ZooKeeperLease(
                    self._settings.quorum,
                    self._settings.node,
                    duration_ms=timing.lease_ms,
                    connection_timeout_s=ha_options.HA_ZOOKEEPER_CONNECTION_TIMEOUT.get(
                        self._config
                    ).to_seconds(),
                    session_timeout_s=ha_options.HA_ZOOKEEPER_SESSION_TIMEOUT.get(
                        self._config
                    ).to_seconds(),
                    request_timeout_s=patience_s,
                )
            case _:
                access = pod_access(
                    ha_options.HA_KUBERNETES_API.get(self._config),
                    ha_options.KUBERNETES_NAMESPACE.get(self._config),
                    Path(ha_options.HA_KUBERNETES_ACCOUNT.get(self._config)),
                    patience_s,
                )
                name = f"{self._settings.cluster}-leader"
                return KubernetesLease(access, name, duration_ms=timing.lease_ms)

    def elect(self, listener: LeaderListener, address: str = "") -> LeaderElection:
        """An election to take part in, to be started and closed.

        ``address`` is where clients find this one; without it nobody is found before ``publish``.
        """
        return LeaderElection(
            self.leases(),
            listener,
            self._settings.timing,
            address=address,
            highest_epoch=self.job_store.highest_epoch,
        )

    def find_leader(self) -> Leader | None:
        """Who leads, by one look at the lease, for clients; it may have died a moment ago.

        Raises:
            ExternalError: the store of the lease did not answer.
        """
        leases = self.leases()
        try:
            return leader_of(leases.read().lease)
        finally:
            leases.close()


def _in_a_hurry(config: Mapping[str, str], patience_s: float) -> Mapping[str, str]:
    """The configuration of an object store whose answer is of no use when it comes late."""
    hurried = dict(config)
    longest = Duration.of_millis(max(1, int(patience_s * 1000)))
    for option in (S3_CONNECT_TIMEOUT, S3_REQUEST_TIMEOUT):
        option.set(hurried, min(option.get(config), longest))
    S3_ATTEMPTS.set(hurried, 1)
    return hurried
