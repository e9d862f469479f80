"""What can be configured, and what is refused with words."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun.cluster.ha.election import Timing
from riverrun.cluster.ha.high_availability import high_availability
from riverrun.cluster.ha.service import Leader
from riverrun.cluster.ha.settings import HaSettings, ha_settings
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import KeyKind, check_config, kind_of
from riverrun.storage.memory import MemoryStorage
from tests.unit.cluster.ha.test_service import Told

FOLDER = {"high-availability.type": "filesystem", "high-availability.storageDir": "/shared"}
ZOOKEEPER = {
    "high-availability.type": "ZOOKEEPER",
    "high-availability.storageDir": "s3://bucket/ha/",
    "high-availability.zookeeper.quorum": "zoo1:2181, zoo2:2181",
}
KUBERNETES = {
    "high-availability.type": "kubernetes",
    "high-availability.storageDir": "/shared",
    "riverrun.high-availability.kubernetes.api-server": "http://127.0.0.1:1",
}
DEFAULT = Timing(lease_ms=8000, renew_ms=6000, retry_ms=1000)


@pytest.mark.parametrize("config", [{}, {"high-availability.type": "NONE"}])
def test_without_a_type_there_is_none(config: dict[str, str]) -> None:
    assert ha_settings(config) is None
    assert high_availability(config) is None


def test_a_folder_is_enough() -> None:
    assert ha_settings(FOLDER) == HaSettings("filesystem", "default", "/shared/default", DEFAULT)


def test_zookeeper_needs_its_servers() -> None:
    assert ha_settings(ZOOKEEPER | {"high-availability.cluster-id": "/prod/eu"}) == HaSettings(
        "zookeeper",
        "prod/eu",
        "s3://bucket/ha/prod/eu",
        DEFAULT,
        "zoo1:2181,zoo2:2181",
        "/riverrun/prod/eu/leader",
    )


def test_flinks_times_count_on_kubernetes_only() -> None:
    times = {
        "high-availability.kubernetes.leader-election.lease-duration": "15 s",
        "high-availability.kubernetes.leader-election.renew-deadline": "10 s",
        "high-availability.kubernetes.leader-election.retry-period": "5 s",
    }

    on_kubernetes, elsewhere = ha_settings(KUBERNETES | times), ha_settings(FOLDER | times)

    assert on_kubernetes is not None
    assert on_kubernetes.timing == Timing(15_000, 10_000, 5_000)
    assert elsewhere is not None
    assert elsewhere.timing == DEFAULT


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"high-availability.type": "filesystem"}, "'high-availability.storageDir' is not set"),
        ({"high-availability.type": "com.example.Factory"}, "expected one of none, filesystem"),
        (FOLDER | {"high-availability.storageDir": "shared"}, "did you mean"),
        (FOLDER | {"high-availability.cluster-id": "../x"}, "expected letters, digits"),
        (FOLDER | {"high-availability.cluster-id": ""}, "expected letters, digits"),
        (
            KUBERNETES | {"high-availability.cluster-id": "My_Cluster"},
            "part of the name of a Lease, so expected small letters",
        ),
        (
            FOLDER | {"riverrun.high-availability.renew-deadline": "8 s"},
            (
                "expected less than 'riverrun.high-availability.lease-duration', which is '8000 ms': a leader "
                "must stop before another one begins"
            ),
        ),
        (
            FOLDER | {"riverrun.high-availability.retry-period": "6 s"},
            "must be able to renew its lease in time",
        ),
        (
            FOLDER | {"riverrun.high-availability.retry-period": "0"},
            "expected 1 ms or more",
        ),
        (
            {k: v for k, v in ZOOKEEPER.items() if "quorum" not in k},
            "'high-availability.zookeeper.quorum' is not set",
        ),
        (
            ZOOKEEPER | {"high-availability.zookeeper.quorum": "zoo1:2181;zoo2:2181"},
            "expected servers such as 'zoo1:2181,zoo2:2181'",
        ),
        (
            ZOOKEEPER | {"high-availability.zookeeper.path.root": "riverrun"},
            "expected the path of a node",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_words(config: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        high_availability(config)

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            FOLDER | {"high-availability.storageDir": "gs://bucket/ha"},
            "a lease needs a store that creates a file only if there is none",
        ),
        (
            FOLDER | {"high-availability.storageDir": "ftp://host/ha"},
            "no store is known for 'ftp://'",
        ),
        (
            FOLDER | {"high-availability.storageDir": "s3://bucket/ha"},
            "set 's3.access-key' and 's3.secret-key', or AWS_ACCESS_KEY_ID",
        ),
        (
            {k: v for k, v in KUBERNETES.items() if "api-server" not in k},
            "this process is not in a pod",
        ),
    ],
)
def test_what_this_place_cannot_do_is_refused_before_anything_runs(
    config: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ConfigError) as refused:
        high_availability(config)

    assert message in str(refused.value)


def test_zookeeper_without_kazoo_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(ConfigError, match=r"install riverrun\[zookeeper\]"):
        ha_settings(ZOOKEEPER)


def test_other_stores_than_those_of_leases_may_keep_jobs() -> None:
    config = ZOOKEEPER | {"high-availability.storageDir": "hdfs://name:8020/ha"}

    assert high_availability(config) is not None


def test_the_keys_are_options_and_what_nothing_reads_has_no_effect() -> None:
    for key in (*FOLDER, *ZOOKEEPER, *KUBERNETES, "high-availability.cluster-id"):
        assert kind_of(key) is KeyKind.OPTION
    assert kind_of("high-availability") is KeyKind.OLDER_NAME
    assert kind_of("high-availability.zookeeper.client.acl") is KeyKind.NO_EFFECT
    assert kind_of("high-availability.storagedir") is KeyKind.UNKNOWN
    check_config(FOLDER | ZOOKEEPER)


def test_a_client_finds_the_leader_by_the_lease(tmp_path: Path) -> None:
    ha = high_availability(FOLDER | {"high-availability.storageDir": str(tmp_path)})
    assert ha is not None
    assert ha.find_leader() is None
    ha.job_store.take_over(6)
    told = Told()

    election = ha.elect(told, "http://here:8081")
    election.start()
    assert told.happened.wait(30)

    # Higher than what the jobs have seen, though the lease is new.
    assert ha.find_leader() == Leader(7, "http://here:8081")
    election.close()
    assert ha.find_leader() is None


def test_clusters_with_different_ids_know_nothing_of_each_other() -> None:
    MemoryStorage.forget("ha-clusters")
    place = {"high-availability.storageDir": "memory://ha-clusters/x"}
    one, other = (
        high_availability(FOLDER | place | {"high-availability.cluster-id": name})
        for name in ("a", "b")
    )
    assert one is not None
    assert other is not None
    one.job_store.take_over(1)

    assert other.job_store.highest_epoch() == 0
    MemoryStorage.forget("ha-clusters")
