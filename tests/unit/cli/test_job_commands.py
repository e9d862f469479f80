"""Commands about jobs, against a JobManager on a port that notes what it is asked."""

from __future__ import annotations

import pytest

from riverrun.core.errors import CheckpointFailed, ExternalError
from riverrun.core.lifecycle import JobStatus
from tests.unit.cli.conftest import Cluster, River

ORDERS = "a" * 32
PAYMENTS = "ab" * 16


class TestList:
    def test_jobs_that_run_or_will_are_listed(self, river: River, cluster: Cluster) -> None:
        cluster.dispatcher.add(PAYMENTS, "payments", JobStatus.FINISHED)

        said = river("list")

        assert said.code == 0
        assert "orders" in said.out
        assert "RUNNING" in said.out
        assert "3 of 3 run" in said.out
        assert "payments" not in said.out

    @pytest.mark.parametrize(
        ("flags", "names"),
        [
            ((), ["orders", "waiting"]),
            (("-r",), ["orders"]),
            (("-s",), ["waiting"]),
            (("-r", "-s"), ["orders", "waiting"]),
            (("-a",), ["orders", "over", "waiting"]),
        ],
    )
    def test_flags_choose_the_jobs(
        self, river: River, cluster: Cluster, flags: tuple[str, ...], names: list[str]
    ) -> None:
        cluster.dispatcher.add(PAYMENTS, "over", JobStatus.FAILED)
        cluster.dispatcher.add("c" * 32, "waiting", JobStatus.CREATED)

        jobs = river("list", *flags, "--json").json["jobs"]

        assert sorted(job["name"] for job in jobs) == names

    def test_machines_get_every_field(self, river: River, cluster: Cluster) -> None:
        (job,) = river("list", "--json").json["jobs"]

        assert set(job) == {
            *("id", "name", "status", "start_time", "end_time", "duration_ms", "tasks")
        }
        assert (job["id"], job["status"], job["tasks"]["running"]) == (ORDERS, "RUNNING", 3)

    def test_no_jobs_are_no_error(self, river: River, cluster: Cluster) -> None:
        cluster.dispatcher.reports.clear()

        assert river("list").out.startswith(f"no such jobs at {cluster.url}; river list -a")


class TestCancel:
    @pytest.mark.parametrize("word", [ORDERS, "aaaa", "AAA", "orders"])
    def test_a_job_is_named_by_its_id_a_beginning_of_it_or_its_name(
        self, river: River, cluster: Cluster, word: str
    ) -> None:
        said = river("cancel", word)

        assert (said.code, said.out) == (0, f"Cancelled job {ORDERS}.\n")
        assert cluster.dispatcher.asked == [("cancel", ORDERS)]

    def test_machines_get_the_status(self, river: River, cluster: Cluster) -> None:
        assert river("cancel", "orders", "--json").json == {
            "job_id": ORDERS,
            "name": "orders",
            "status": "CANCELED",
        }

    def test_a_wrong_name_gets_the_nearest(self, river: River, cluster: Cluster) -> None:
        said = river("cancel", "ordres")

        assert said.code == 1
        assert "job 'ordres': there is no such id" in said.err
        assert said.err.endswith("did you mean 'orders'?\n")
        assert cluster.dispatcher.asked == []

    @pytest.mark.parametrize(
        "arguments", [("-s", "orders"), ("-s", "/savepoints", "orders"), ("orders", "-s")]
    )
    def test_with_a_savepoint_it_is_refused_with_the_right_command(
        self, river: River, cluster: Cluster, arguments: tuple[str, ...]
    ) -> None:
        said = river("cancel", *arguments)

        assert said.code == 2
        assert "river stop" in said.err
        assert cluster.dispatcher.asked == []

    def test_two_jobs_are_too_many(self, river: River, cluster: Cluster) -> None:
        assert river("cancel", "orders", "payments").code == 2

    def test_a_job_that_ended_is_left_alone(self, river: River, cluster: Cluster) -> None:
        cluster.dispatcher.add(ORDERS, "orders", JobStatus.FINISHED)

        said = river("cancel", "orders")

        assert said.code == 1
        assert "is FINISHED already" in said.err


class TestStop:
    def test_a_job_is_stopped_with_a_savepoint(self, river: River, cluster: Cluster) -> None:
        said = river("stop", "--savepointPath", "/savepoints", "orders")

        assert said.code == 0
        assert said.out == (
            f"Stopped job {ORDERS}.\nSavepoint completed. Path: {cluster.dispatcher.location}\n"
        )
        assert cluster.dispatcher.asked == [("stop", ORDERS, "/savepoints", False)]

    def test_it_can_drain(self, river: River, cluster: Cluster) -> None:
        said = river("stop", "-d", "orders", "--json")

        assert cluster.dispatcher.asked == [("stop", ORDERS, None, True)]
        assert said.json == {
            "job_id": ORDERS,
            "name": "orders",
            "status": "FINISHED",
            "savepoint": cluster.dispatcher.location,
        }

    def test_detached_it_does_not_wait(self, river: River, cluster: Cluster) -> None:
        said = river("stop", "--detached", "orders")

        assert said.out == f"Stopping job {ORDERS} with a savepoint.\n"

    def test_a_savepoint_that_failed_is_a_failure(self, river: River, cluster: Cluster) -> None:
        cluster.dispatcher.failure = CheckpointFailed("savepoint 3: the disk is full")

        said = river("stop", "orders")

        assert said.code == 1
        assert said.err == "error: savepoint 3: the disk is full\n"


class TestSavepoint:
    def test_a_savepoint_is_taken(self, river: River, cluster: Cluster) -> None:
        said = river("savepoint", "orders", "/savepoints")

        assert said.out == f"Savepoint completed. Path: {cluster.dispatcher.location}\n"
        assert cluster.dispatcher.asked == [("savepoint", ORDERS, "/savepoints")]

    def test_machines_get_its_place(self, river: River, cluster: Cluster) -> None:
        assert river("savepoint", "orders", "--json").json == {
            "job_id": ORDERS,
            "name": "orders",
            "savepoint": cluster.dispatcher.location,
        }

    def test_one_is_deleted_by_the_job_manager_that_runs(
        self, river: River, cluster: Cluster
    ) -> None:
        said = river("savepoint", "--dispose", "/savepoints/old")

        assert said.code == 0
        assert said.out == "deleted savepoint in /savepoints/old\n"
        assert cluster.dispatcher.asked == [("dispose", "/savepoints/old")]

    def test_without_a_job_manager_it_is_deleted_here(self, river: River) -> None:
        said = river("savepoint", "--dispose", "/no/such/savepoint")

        assert said.code == 1
        assert "/no/such/savepoint" in said.err

    def test_it_needs_a_job_or_a_savepoint_and_not_both(
        self, river: River, cluster: Cluster
    ) -> None:
        assert river("savepoint").code == 2
        assert river("savepoint", "orders", "--dispose", "/savepoints/old").code == 2
        assert cluster.dispatcher.asked == []

    def test_a_checkpoint_is_taken(self, river: River, cluster: Cluster) -> None:
        assert river("checkpoint", "orders").out == (
            "Checkpoint completed. Path: /checkpoints/chk-7\n"
        )
        assert river("checkpoint", "orders", "--json").json == {
            "job_id": ORDERS,
            "name": "orders",
            "checkpoint": "/checkpoints/chk-7",
        }


class TestRescale:
    def test_what_was_and_what_is_are_shown(self, river: River, cluster: Cluster) -> None:
        said = river("rescale", "orders", "-p", 4)

        assert cluster.dispatcher.asked == [("rescale", ORDERS, 4)]
        rows = [line.split() for line in said.out.splitlines()]
        assert rows[0] == ["Rescaled", "job", f"{ORDERS}."]
        assert rows[2:] == [["Source:", "orders", "2", "4"], ["Sink:", "totals", "1", "4"]]

    def test_single_vertices_are_rescaled(self, river: River, cluster: Cluster) -> None:
        said = river("rescale", "orders", "--vertex", "Sink: totals=3", "--json")

        assert cluster.dispatcher.asked == [("rescale", ORDERS, {"Sink: totals": 3})]
        assert said.json["vertices"][1] == {
            "id": "c" * 32,
            "name": "Sink: totals",
            "before": 1,
            "after": 3,
        }

    @pytest.mark.parametrize(
        "wish",
        [
            (),
            ("-p", "2", "-v", "x=1"),
            ("-v", "x"),
            ("-v", "x=0"),
            ("-v", "=3"),
            ("-v", "x=1", "-v", "x=2"),
        ],
    )
    def test_a_wish_that_is_none_is_a_wrong_use(
        self, river: River, cluster: Cluster, wish: tuple[str, ...]
    ) -> None:
        assert river("rescale", "orders", *wish).code == 2
        assert cluster.dispatcher.asked == []

    def test_why_it_was_not_rescaled_is_told(self, river: River, cluster: Cluster) -> None:
        cluster.dispatcher.failure = ExternalError("too few slots: 3 of 4 are there")

        said = river("rescale", "orders", "-p", 4)

        assert (said.code, said.err) == (1, "error: too few slots: 3 of 4 are there\n")
