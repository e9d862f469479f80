"""What savepoints and checkpoints hold, asked for over the interface."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from riverrun.api.state import MapStateDescriptor, ValueStateDescriptor
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.ids import JobId
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.serde.key_hash import key_group
from riverrun.serde.types import Types
from riverrun.state_processor.savepoint import Savepoint
from tests.unit.rest.conftest import RecordedDispatcher
from tests.unit.rest.snapshots_here import SnapshotsHere
from tests.unit.state_processor.made_checkpoints import JOB, OPERATOR, Operator

GROUPS = 16
TOTALS: Any = ValueStateDescriptor("totals", Types.LONG())
ANYTHING: Any = ValueStateDescriptor("anything")
MAPS: Any = MapStateDescriptor("maps")
FORMATS = [
    (backend, what) for backend in ("hashmap", "rocksdb") for what in ("checkpoint", "savepoint")
]


class TakesJobs:
    """There is somebody who takes jobs; nobody sends one."""

    artifacts: Any = None

    def submit(self, request: SubmitRequest) -> JobId:
        raise AssertionError(request)

    def values(self, job: JobId) -> ClientValues:
        raise AssertionError(job)


@pytest.fixture
def client() -> Iterator[TestClient]:
    context = RestContext(RecordedDispatcher(), submissions=TakesJobs(), snapshots=SnapshotsHere())
    with TestClient(rest_app(context, ROUTES), raise_server_exceptions=False) as client:
        yield client


@dataclass(frozen=True)
class Account:
    owner: str
    parts: tuple[int, ...]


def saved(folder: Path, backend: str = "hashmap", what: str = "checkpoint") -> Savepoint:
    """Totals of 100 customers, and what else there may be of one of them."""
    operator = Operator(folder, backend, max_parallelism=GROUPS, key_type=Types.STRING())
    for number in range(100):
        at: Any = operator.at(f"customer-{number}")
        at.state(TOTALS).update(2**60 + number)
        at.state(ANYTHING).update(Account(f"owner {number}", (number, 2)))
    at = operator.at("customer-7")
    for number in range(300):
        at.state(MAPS).put(number, [number])
    savepoint: Savepoint = getattr(operator, what)()
    operator.close()
    return savepoint


def ask(client: TestClient, what: str, path: str, **query: Any) -> Any:
    params = {"path": path, **{name.replace("_", "-"): value for name, value in query.items()}}
    answer = client.get(f"/snapshots{what}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, what: str, **query: Any) -> tuple[int, str]:
    answer = client.get(f"/snapshots{what}", params=query)
    return answer.status_code, answer.json()["errors"][0]


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_operators_and_their_states_are_listed(
    client: TestClient, tmp_path: Path, backend: str, what: str
) -> None:
    told = ask(client, "/states", saved(tmp_path, backend, what).location)
    assert told["snapshot"]["job_name"] == "shop"
    assert told["snapshot"]["savepoint"] == (what == "savepoint")
    (operator,) = told["operators"]
    names = [operator[name] for name in ("id", "uid", "name", "vertex")]
    assert names == [OPERATOR, "customers-uid", "customers", "Customers"]
    assert (operator["parallelism"], operator["max_parallelism"]) == (2, GROUPS)
    states = {each["name"]: each for each in operator["states"]}
    assert {name: (each["kind"], each["entries"]) for name, each in states.items()} == {
        "totals": ("value", 100),
        "anything": ("value", 100),
        "maps": ("map", 300),
    }
    assert all(each["bytes"] > 0 for each in states.values())
    types = (states["totals"]["key_type"], states["anything"]["value_type"])
    assert types == ("Types.STRING()", None)


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_a_person_finds_the_value_of_a_key(
    client: TestClient, tmp_path: Path, backend: str, what: str
) -> None:
    path = saved(tmp_path, backend, what).location
    spread = ask(client, "/key-groups", path, operator="customers-uid", state="totals")
    assert sum(spread["entries"]) == 100
    assert (spread["subtasks"], spread["complete"]) == ([[0, 7], [8, 15]], True)

    group = key_group("customer-7", GROUPS)
    of = {"operator": "customers-uid", "state": "totals"}
    keys = ask(client, "/keys", path, **of, key_group=group)["keys"]
    assert {"key": "customer-7", "key_group": group, "subtask": group // 8} in keys
    assert len(keys) == spread["entries"][group]

    found = ask(client, "/lookup", path, operator="customers", state="totals", key="customer-7")
    assert (found["found"], found["key_group"], found["subtask"]) == (True, group, group // 8)
    assert [each["value"]["text"] for each in found["entries"]] == [str(2**60 + 7)]
    found = ask(client, "/lookup", path, operator="customers", state="anything", key="customer-7")
    (entry,) = found["entries"]
    assert entry["value"]["type"] == "Account"
    assert '"owner": "owner 7"' in entry["value"]["json"]
    found = ask(client, "/lookup", path, operator="customers", state="maps", key="customer-7")
    assert (len(found["entries"]), found["complete"]) == (200, False)
    assert found["entries"][0]["map_key"] is not None


def test_keys_are_written_as_python_or_json_writes_them(client: TestClient, tmp_path: Path) -> None:
    operator = Operator(tmp_path, max_parallelism=GROUPS)
    keys: list[Any] = [42, "42", ("a", 1), "plain", True, b"\x00", Account("x", (1,)), 2**70]
    for number, key in enumerate(keys):
        at: Any = operator.at(key)
        at.state(ANYTHING).update(number)
    path = operator.checkpoint().location
    listed = ask(client, "/keys", path, operator="customers", state="anything")
    assert len(listed["keys"]) == len(keys)
    assert listed["complete"]
    values = set()
    for each in listed["keys"]:
        query = {"key": each["key"], "key_group": each["key_group"]}
        found = ask(client, "/lookup", path, operator="customers", state="anything", **query)
        assert (found["found"], found["key_group"]) == (True, each["key_group"]), each
        values.add(found["entries"][0]["value"]["text"])
    assert values == {str(number) for number in range(len(keys))}
    found = ask(client, "/lookup", path, operator="customers", state="anything", key='"42"')
    assert found["entries"][0]["value"]["text"] == "1"
    found = ask(client, "/lookup", path, operator="customers", state="anything", key="nobody")
    assert (found["found"], found["entries"]) == (False, [])
    assert found["key_group"] == key_group("nobody", GROUPS)
    found = ask(client, "/lookup", path, operator="customers", state="anything", key="{}")
    assert found["found"] is False


def test_keys_are_listed_up_to_a_limit(client: TestClient, tmp_path: Path) -> None:
    path = saved(tmp_path).location
    told = ask(client, "/keys", path, operator="customers", state="maps", limit=1)
    assert ([each["key"] for each in told["keys"]], told["complete"]) == (["customer-7"], True)
    told = ask(client, "/keys", path, operator="customers", state="totals", limit=7)
    assert (len(told["keys"]), told["complete"]) == (7, False)


def test_what_takes_too_long_is_told_as_far_as_it_is(tmp_path: Path) -> None:
    context = RestContext(
        RecordedDispatcher(), submissions=TakesJobs(), snapshots=SnapshotsHere(patience_s=0.0)
    )
    path = saved(tmp_path, "rocksdb").location
    with TestClient(rest_app(context, ROUTES)) as client:
        (operator,) = ask(client, "/states", path)["operators"]
        assert [each["entries"] for each in operator["states"]] == [None] * 3
        spread = ask(client, "/key-groups", path, operator="customers", state="totals")
        assert (spread["complete"], spread["entries"][-1]) == (False, None)
        told = ask(client, "/keys", path, operator="customers", state="totals")
        assert (told["complete"], told["keys"]) == (False, [])
        missing = ask(client, "/lookup", path, operator="customers", state="totals", key="x")
        assert (missing["complete"], missing["found"]) == (False, False)


@pytest.mark.parametrize(("backend", "what"), FORMATS)
def test_classes_that_are_not_here_are_told_of_and_sizes_are_shown(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, what: str
) -> None:
    gone = types.ModuleType("module_of_a_program")
    exec("class Order:\n    pass", gone.__dict__)
    monkeypatch.setitem(sys.modules, gone.__name__, gone)
    operator = Operator(tmp_path, backend, max_parallelism=GROUPS)
    at: Any = operator.at("k")
    at.state(ANYTHING).update(gone.Order())
    path = getattr(operator, what)().location
    operator.close()
    monkeypatch.delitem(sys.modules, gone.__name__)

    (told,) = ask(client, "/states", path)["operators"]
    assert told["states"][0]["entries"] == 1
    spread = ask(client, "/key-groups", path, operator="customers", state="anything")
    assert sum(spread["entries"]) == 1
    query = {"path": path, "operator": "customers", "state": "anything"}
    status, words = refused(client, "/lookup", **query, key="k")
    assert status == 409
    assert "module_of_a_program" in words
    assert "make their class importable" in words


def test_snapshots_below_a_folder_are_listed(client: TestClient, tmp_path: Path) -> None:
    first = saved(tmp_path / "a").location
    second = saved(tmp_path / "b", what="savepoint").location
    (tmp_path / "c" / "broken").mkdir(parents=True)
    (tmp_path / "c" / "broken" / "_metadata").write_bytes(b"none of ours")
    told = ask(client, "", str(tmp_path))
    assert {each["path"] for each in told["snapshots"]} == {first, second}
    assert [each["job_id"] for each in told["snapshots"]] == [JOB, JOB]
    assert (len(told["unreadable"]), told["complete"]) == (1, True)
    assert str(tmp_path / "c" / "broken") in told["unreadable"][0]
    assert ask(client, "", str(tmp_path / "nowhere"))["snapshots"] == []
    assert ask(client, "", "/proc")["snapshots"] == []


def test_what_is_missing_broken_or_foreign_is_refused(client: TestClient, tmp_path: Path) -> None:
    path = saved(tmp_path / "s", what="savepoint").location
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "_metadata").write_bytes(b"none of ours")
    some = {"operator": "customers", "state": "totals"}
    for what, more, status, words in (
        ("/states", {"path": "/nowhere"}, 404, "there is no checkpoint or savepoint"),
        ("/states", {"path": "/etc/passwd"}, 404, "there is no checkpoint or savepoint"),
        ("/states", {"path": str(foreign)}, 409, "foreign"),
        ("/states", {"path": "ftp://x/y"}, 400, "no store is known"),
        ("/states", {"path": "relative/path"}, 400, "path"),
        ("/states", {"path": "/nul\0"}, 400, "path"),
        ("/states", {"path": "/" + "x" * 300}, 409, "name too long"),
        ("/states", {}, 400, "path"),
        ("/key-groups", {"path": path, **some, "state": "total"}, 404, "did you mean 'totals'"),
        ("/key-groups", {"path": path, **some, "operator": "nobody"}, 404, "no operator 'nobody'"),
        ("/keys", {"path": path, **some, "limit": 0}, 400, "limit"),
        ("/keys", {"path": path, **some, "limit": 10**9}, 400, "limit"),
        ("/keys", {"path": path, **some, "key-group": -1}, 400, "key-group"),
        ("/entries", {"path": path, **some}, 400, "belongs to keys"),
        ("/lookup", {"path": path, **some}, 400, "key"),
        ("/lookup", {"path": path, **some, "key": "x" * 30_000}, 400, "key"),
    ):
        assert (what, *refused(client, what, **more)[:1]) == (what, status), (what, more)
        assert words in refused(client, what, **more)[1], (what, more)
    for key in (
        "(" * 5000,
        "9" * 10_000,
        "\ud800".encode("utf-16", "surrogatepass").hex(),
        "[[[",
        "\0",
    ):
        assert (
            client.get("/snapshots/lookup", params={"path": path, **some, "key": key}).status_code
            == 200
        )
    assert ask(client, "/keys", path, **some, key_group=10**6)["keys"] == []


def test_a_file_that_was_damaged_is_named(client: TestClient, tmp_path: Path) -> None:
    savepoint = saved(tmp_path, what="savepoint")
    file: Any = savepoint.find("customers").keyed[0].parts[0].blob
    Path(file.path).write_bytes(b"x")
    query = {"path": savepoint.location, "operator": "customers", "state": "totals"}
    for what in ("/states", "/key-groups", "/keys"):
        status, words = refused(client, what, **query)
        assert status == 409
        assert Path(file.path).name in words


def test_without_a_right_to_send_jobs_only_own_snapshots_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path).location
    with TestClient(
        rest_app(RestContext(RecordedDispatcher(), snapshots=SnapshotsHere()), ROUTES)
    ) as client:
        assert refused(client, "/states", path=path)[0] == 403
        assert refused(client, "", path=str(tmp_path))[0] == 403
    with TestClient(
        rest_app(RestContext(RecordedDispatcher(), submissions=TakesJobs()), ROUTES)
    ) as client:
        assert refused(client, "/states", path=path)[0] == 403
