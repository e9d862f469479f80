"""The ResourceManager with a cluster that the test plays."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from random import Random

import pytest

from riverrun.cluster.resources.job_slots import JobSlots
from riverrun.cluster.resources.manager import ResourceManager
from riverrun.cluster.resources.requirements import Bounds
from riverrun.cluster.resources.seeking import FixedNeed
from riverrun.core.errors import ExternalError, TooFewSlots
from riverrun.core.ids import JobId, VertexId
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.partitioning import Hash
from riverrun.graph.rescaling import RescaleFailed, parallelism_of, rescaled
from riverrun.testing.waiting import wait_until
from tests.unit.cluster.resources.conftest import ADAPTIVE, PATIENCE_S, PREFIX, Cluster
from tests.unit.graph.conftest import Program, partition, same

FOR_EVER_MS = 1e9


def job(number: int) -> JobId:
    return JobId(f"{number:032x}")


def need(slots: int, timeout_ms: float = FOR_EVER_MS) -> FixedNeed:
    return FixedNeed(slots, timeout_ms, began=0)


def submission(config: Mapping[str, str], parallelism: int = 4) -> JobSubmission:
    program = Program(parallelism)
    program.map("sums", partition(program.source("in"), Hash(same)))
    return JobSubmission(job(1), "spend", program.job_graph(), config)


def sizes(graph: JobGraph) -> list[int]:
    return list(parallelism_of(graph).values())


def test_slots_that_are_there_are_granted_without_a_thread(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    threads = threading.active_count()

    assert manager.acquire(job(1), "a", need(3)) == 3
    assert manager.held() == {job(1): 3}
    assert manager.room(job(2)).free == 1
    assert threading.active_count() == threads


def test_a_job_waits_until_an_executor_comes(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    manager = ResourceManager(cluster)
    answers: SimpleQueue[object] = SimpleQueue()
    manager.seek(job(1), "spend", need(6), answers.put)
    assert manager.waiting()[job(1)].words == "waiting for 6 slots, 4 are there on 1 executor"

    cluster.ids.append("1")

    assert answers.get(timeout=PATIENCE_S).slots == 6  # type: ignore[attr-defined]
    assert not manager.waiting()
    assert "job 'spend' is waiting for 6 slots, 4 are there on 1 executor" in caplog.text


def test_a_job_waits_until_another_one_leaves(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    manager.acquire(job(1), "a", need(4))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(manager.acquire, job(2), "b", need(2))
        manager.leave(job(1))
        assert waiting.result(PATIENCE_S) == 2


def test_a_job_that_waited_too_long_is_refused(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)

    with pytest.raises(TooFewSlots, match="needs 9 task slots"):
        manager.acquire(job(1), "a", need(9, timeout_ms=0))
    assert not manager.held()


def test_who_gives_up_is_told_so(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(manager.acquire, job(1), "a", need(9))
        wait_until(manager.waiting, what="the job waits")
        manager.leave(job(1))
        with pytest.raises(ExternalError, match="job 'a': waits no more"):
            waiting.result(PATIENCE_S)


def test_a_cluster_that_is_gone_refuses_those_who_wait(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    answers: SimpleQueue[object] = SimpleQueue()
    manager.seek(job(1), "a", need(9), answers.put)

    cluster.broken = ExternalError("the JVM does not answer")

    assert answers.get(timeout=PATIENCE_S) is cluster.broken
    manager.seek(job(2), "b", need(1), answers.put)
    assert answers.get(timeout=PATIENCE_S) is cluster.broken


def test_executors_are_listed_only_when_they_changed(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    for _ in range(5):
        manager.room(job(1))
    assert cluster.listed == 1

    cluster.ids = ["1"]
    manager.room(job(1))

    assert cluster.listed == 2
    assert [each.id for each in manager.task_managers()] == ["1"]
    assert [each.id for each in manager.lost()] == ["0"]


def test_many_threads_leave_no_slot_behind(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    cluster.each = 8
    most = threading.Lock()
    running: dict[int, int] = {}

    def client(seed: int) -> int:
        random, served = Random(seed), 0
        for _ in range(25):
            wanted = random.randint(1, 8)
            try:
                manager.acquire(job(seed), "x", need(wanted))
            except ExternalError:
                continue
            with most:
                running[seed] = wanted
                assert sum(running.values()) <= 8
            served += 1
            if random.random() < 0.3:
                with most:
                    running[seed] = 1
                manager.resize(job(seed), 1)
            with most:
                del running[seed]
            manager.leave(job(seed))
            manager.leave(job(seed))
        return served

    with ThreadPoolExecutor(8) as pool:
        served = list(pool.map(client, range(8)))

    assert served == [25] * 8
    assert not manager.held()
    assert manager.room(job(99)).free == 8


# one job's slots


def test_a_job_of_the_default_mode_keeps_its_parallelism(cluster: Cluster) -> None:
    slots = JobSlots(ResourceManager(cluster), submission({"slot.request.timeout": "0 ms"}))

    with pytest.raises(TooFewSlots, match="needs 8 task slots"):
        slots.first()
    cluster.ids.append("1")
    assert sizes(slots.first()) == [4, 4]
    assert set(slots.requirements().values()) == {Bounds(4, 4)}


def test_an_adaptive_job_starts_with_what_is_there(cluster: Cluster) -> None:
    slots = JobSlots(ResourceManager(cluster), submission(ADAPTIVE))

    assert sizes(slots.first()) == [2, 2]


def test_an_adaptive_job_grows_when_executors_come(cluster: Cluster) -> None:
    manager = ResourceManager(cluster)
    slots = JobSlots(manager, submission(ADAPTIVE))
    graph = slots.first()
    asked: SimpleQueue[Mapping[VertexId, int]] = SimpleQueue()
    done: Future[None] = Future()

    def rescale(to: Mapping[VertexId, int]) -> Future[None]:
        slots.reserve(rescaled(graph, to))
        asked.put(to)
        return done

    slots.up(graph, rescale)
    cluster.ids.append("1")

    wanted = asked.get(timeout=PATIENCE_S)
    assert list(wanted.values()) == [4, 4]
    assert manager.held() == {job(1): 8}
    slots.leave()
    assert not manager.held()


def test_a_job_that_was_not_rescaled_is_asked_again(cluster: Cluster) -> None:
    cluster.ids.append("1")
    slots = JobSlots(ResourceManager(cluster), submission(ADAPTIVE))
    graph = slots.first()
    asked: SimpleQueue[list[int]] = SimpleQueue()
    failed: Future[None] = Future()
    failed.set_exception(RescaleFailed("spend", "no checkpoint"))

    def rescale(to: Mapping[VertexId, int]) -> Future[None]:
        asked.put(list(to.values()))
        if asked.qsize() == 1:
            return failed
        raise RescaleFailed("spend", "has ended")

    slots.up(rescaled(graph, dict.fromkeys(parallelism_of(graph), 1)), rescale)

    assert [asked.get(timeout=PATIENCE_S) for _ in range(3)] == [[4, 4]] * 3
    slots.leave()


def test_an_adaptive_job_follows_its_requirements(cluster: Cluster) -> None:
    slow = ADAPTIVE | {f"{PREFIX}.executing.cooldown-after-rescaling": "1 h"}
    slots = JobSlots(ResourceManager(cluster), submission(slow))
    graph = slots.first()
    asked: SimpleQueue[list[int]] = SimpleQueue()

    def rescale(to: Mapping[VertexId, int]) -> Future[None]:
        asked.put(list(to.values()))
        return Future()

    slots.up(graph, rescale)
    first, second = parallelism_of(graph)
    slots.require({first: Bounds(1, 1), second: Bounds(1, 4)})

    assert asked.get(timeout=PATIENCE_S) == [1, 3]
    slots.leave()


def test_who_rescales_an_adaptive_job_sets_its_upper_bounds(cluster: Cluster) -> None:
    slots = JobSlots(ResourceManager(cluster), submission(ADAPTIVE))
    graph = slots.first()
    found: SimpleQueue[JobGraph | ExternalError] = SimpleQueue()

    with pytest.raises(TooFewSlots):
        slots.reserve(submission(ADAPTIVE).graph)
    assert set(slots.requirements().values()) == {Bounds(1, 4)}
    smaller = rescaled(graph, dict.fromkeys(parallelism_of(graph), 1))
    slots.limit(smaller, Future())
    slots.reserve(smaller)
    slots.seek(smaller, found.put)

    assert sizes(found.get(timeout=PATIENCE_S)) == [1, 1]  # type: ignore[arg-type]
    assert set(slots.requirements().values()) == {Bounds(1, 1)}
    slots.leave()


def test_the_next_attempt_of_an_adaptive_job_uses_the_slots_that_are_left(
    cluster: Cluster,
) -> None:
    cluster.ids.append("1")
    manager = ResourceManager(cluster)
    slots = JobSlots(manager, submission(ADAPTIVE))
    graph = slots.first()
    assert sizes(graph) == [4, 4]
    found: SimpleQueue[JobGraph | ExternalError] = SimpleQueue()

    cluster.ids = ["1"]
    slots.seek(graph, found.put)

    left = found.get(timeout=PATIENCE_S)
    assert isinstance(left, JobGraph)
    assert sizes(left) == [2, 2]
    cluster.ids = []
    slots.seek(left, found.put)
    assert slots.waiting_for() == "waiting for 2 slots, 0 are there on 0 executors"
    slots.leave()
    assert isinstance(found.get(timeout=PATIENCE_S), ExternalError)
    assert slots.waiting_for() is None
