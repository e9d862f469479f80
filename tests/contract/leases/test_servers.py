"""What is particular to the servers that keep leases: words when they are away, and what people see there."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from riverrun.cluster.ha.kubernetes_lease import KubernetesAccess, KubernetesLease, pod_access
from riverrun.cluster.ha.lease import UNREADABLE, Lease, LeaseUnreachable
from riverrun.cluster.ha.zookeeper_lease import ZooKeeperLease
from riverrun.core.errors import ConfigError
from riverrun.storage.exclusive import open_exclusive_storage
from riverrun.storage.storage import FileExists
from tests.contract.leases.kubernetes_server import KubernetesServer
from tests.contract.leases.zookeeper_server import ZooKeeperServer
from tests.contract.storage.conftest import S3Server

LEASE = Lease(
    epoch=3, holder="me", address="http://me:8081", duration_ms=1500, written=1_700_000_000_250
)


def test_kubernetes_shows_who_leads(kubernetes: KubernetesServer, account: Path) -> None:
    lease = KubernetesLease(
        pod_access(kubernetes.address, None, account, 5), "c-leader", duration_ms=1000
    )

    lease.write(LEASE, None)

    [(place, shown)] = kubernetes.leases.items()
    assert place == ("/apis/coordination.k8s.io/v1/namespaces/streams/leases", "c-leader")
    assert shown["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 2,
        "leaseTransitions": 3,
        "renewTime": "2023-11-14T22:13:20.250000Z",
    }
    assert shown["metadata"]["annotations"]["riverrun/leader-address"] == "http://me:8081"


def test_a_lease_that_somebody_made_by_hand_is_respected_for_its_time(
    kubernetes: KubernetesServer, account: Path
) -> None:
    access = pod_access(kubernetes.address, "n", account, 5)
    folder = "/apis/coordination.k8s.io/v1/namespaces/n/leases"
    plain: dict[str, Any] = {"metadata": {"name": "a", "uid": "1"}, "spec": {"holderIdentity": "x"}}
    strange: dict[str, Any] = {"metadata": {"name": "b", "uid": "2"}, "spec": 7}
    kubernetes.keep(folder, plain)
    kubernetes.keep(folder, strange)

    found = KubernetesLease(access, "a", duration_ms=900).read()
    unreadable = KubernetesLease(access, "b", duration_ms=900).read()

    assert found.lease == Lease(epoch=0, holder="x", duration_ms=900)
    assert unreadable.lease == Lease(epoch=0, holder=UNREADABLE, duration_ms=900)


def test_a_token_that_is_replaced_while_the_pod_runs_is_read_again(
    kubernetes: KubernetesServer, account: Path
) -> None:
    lease = KubernetesLease(pod_access(kubernetes.address, None, account, 5), "c", duration_ms=1)
    token = (account / "token").read_text()
    (account / "token").write_text("too old")
    with pytest.raises(LeaseUnreachable, match="token was refused"):
        lease.read()

    (account / "token").write_text(token)

    assert lease.read().lease is None


def test_an_api_server_that_is_away_is_named() -> None:
    lease = KubernetesLease(
        KubernetesAccess("http://127.0.0.1:9", "n", timeout_s=1), "c", duration_ms=1
    )

    with pytest.raises(LeaseUnreachable, match=r"127\.0\.0\.1:9.*reachable from this pod"):
        lease.read()


def test_a_certificate_authority_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    access = KubernetesAccess("https://127.0.0.1:9", "n", authority_file=tmp_path / "ca.crt")

    with pytest.raises(LeaseUnreachable, match=r"ca\.crt"):
        KubernetesLease(access, "c", duration_ms=1).read()


def test_a_pod_knows_its_cluster(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    (account / "ca.crt").write_text("")

    access = pod_access(None, None, account, 5)

    assert (access.server, access.namespace) == ("https://[fd00::1]:6443", "streams")
    assert access.authority_file == account / "ca.crt"
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(ConfigError, match="not in a pod"):
        pod_access(None, None, account, 5)


def test_a_zookeeper_that_is_away_is_named() -> None:
    lease = ZooKeeperLease("127.0.0.1:9", "/r/c/leader", duration_ms=1, connection_timeout_s=0.3)

    with pytest.raises(
        LeaseUnreachable, match=r"ZooKeeper at '127\.0\.0\.1:9'.*are the servers up"
    ):
        lease.read()
    lease.close()


def test_a_lease_outlives_zookeepers_restart(tmp_path: Path) -> None:
    server = ZooKeeperServer(tmp_path)
    lease = ZooKeeperLease(
        server.quorum, f"/riverrun/{uuid.uuid4().hex}", duration_ms=1, request_timeout_s=0.2
    )
    try:
        version = lease.write(LEASE, None)
        server.close()
        with pytest.raises(LeaseUnreachable):
            lease.write(LEASE, version)
        server.start()
        for _ in range(300):
            try:
                found = lease.read()
                break
            except LeaseUnreachable:
                continue

        assert found.lease == LEASE
        assert lease.write(LEASE, found.version) != version
    finally:
        lease.close()
        server.close()


def test_s3_creates_a_file_once(s3_server: S3Server) -> None:
    root = f"{s3_server.root}/{uuid.uuid4().hex}"
    storage = open_exclusive_storage(root, s3_server.config())

    storage.write(f"{root}/a b", b"one", new=True)

    with pytest.raises(FileExists, match="must be new"):
        storage.write(f"{root}/a b", b"two", new=True)
    assert storage.read(f"{root}/a b") == b"one"
    assert storage.list(root) == [f"{root}/a b"]
    storage.write(f"{root}/a b", b"three")
    assert storage.read(f"{root}/a b") == b"three"
