"""A JobManager that others stand in for: what it takes up, what it hands over, and when its process ends."""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from riverrun.cluster.ha.high_availability import HighAvailability, high_availability
from riverrun.cluster.ha.job_store import NotLeading
from riverrun.cluster.ha.submissions import request_of, stored_job
from riverrun.cluster.job_report import JobReport
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.wire import SentCode, SentFile, SubmitRequest
from riverrun.core.errors import ConfigError, ExternalError, ProgramError
from riverrun.core.lifecycle import JobStatus
from riverrun.jobmanager.kept_jobs import KeptJobs
from riverrun.jobmanager.leading import DEPOSED, LeaderRole, LedJobManager, StandbyEnded

LIBRARY = b"a library"
DIGEST = hashlib.sha256(LIBRARY).hexdigest()
JOB = "ab" * 16


def request(job: str = JOB) -> SubmitRequest:
    return SubmitRequest(
        job=job,
        name="a job",
        graph=b"graph",
        config={"a": "b"},
        client_operators=("x",),
        restore_from="/savepoint",
        code=SentCode(files=(SentFile("program.zip", DIGEST),), python="env/bin/python"),
    )


def report(status: str) -> JobReport:
    return JobReport(id=JOB, name="a job", status=status, timestamps={}, start=0, made=0)


def sent(folder: Path) -> ArtifactStore:
    """A JobManager's files, the library among them."""
    store = ArtifactStore(folder, 1000)
    receiving = store.receive(DIGEST)
    receiving.write(LIBRARY)
    receiving.keep()
    return store


class Submissions:
    def __init__(self, folder: Path) -> None:
        self.artifacts = ArtifactStore(folder, 1000)
        self.keep: Callable[[SubmitRequest], None] | None = None
        self.submitted: list[SubmitRequest] = []

    def submit(self, request: SubmitRequest) -> None:
        if self.keep is not None:
            self.keep(request)
        self.submitted.append(request)


class Manager:
    """What stands for a JobManager."""

    def __init__(self, folder: Path) -> None:
        self.submissions = Submissions(folder)
        self.dispatcher = self
        self.url = "http://here:1"
        self.story: list[str] = []
        self.ends: list[Callable[[JobReport], None]] = []
        self.shut_down: Callable[[], None] = lambda: None

    def tell_ends(self, listener: Callable[[JobReport], None]) -> None:
        self.ends.append(listener)

    def serve(self, shut_down: Callable[[], None]) -> str:
        self.shut_down = shut_down
        return self.url

    def load_history(self) -> None:
        self.story.append("loaded")

    def suspend(self) -> None:
        self.story.append("suspended")

    def close(self) -> None:
        self.story.append("closed")


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path / "ha"),
    }


@pytest.fixture
def ha(config: dict[str, str]) -> HighAvailability:
    made = high_availability(config)
    assert made is not None
    return made


def kept(ha: HighAvailability, artifacts: ArtifactStore) -> KeptJobs:
    return KeptJobs(ha.job_store, artifacts, lambda: 5)


def test_a_request_comes_back_as_it_was_to_be_resumed() -> None:
    stored = stored_job(request(), 5)

    assert (stored.submitted, stored.artifacts[0].sha256) == (5, DIGEST)
    assert request_of(stored) == msgspec.structs.replace(request(), resume=True)


def test_a_job_is_taken_up_with_its_files_by_a_machine_that_has_never_seen_it(
    ha: HighAvailability, tmp_path: Path
) -> None:
    ha.job_store.take_over(1)
    kept(ha, sent(tmp_path / "first")).keep(request())
    elsewhere = ArtifactStore(tmp_path / "second", 1000)
    submitted: list[SubmitRequest] = []

    count = kept(ha, elsewhere).recover(ha.job_store.take_over(2), submitted.append)

    assert count == 1
    assert submitted == [request_of(stored_job(request(), 5))]
    assert elsewhere.path(DIGEST, "program.zip").read_bytes() == LIBRARY


def test_a_job_that_cannot_be_taken_up_stays_and_the_others_go_on(
    ha: HighAvailability, tmp_path: Path
) -> None:
    ha.job_store.take_over(1)
    jobs = kept(ha, sent(tmp_path / "first"))
    for name in (JOB, "cd" * 16):
        jobs.keep(request(name))
    submitted: list[str] = []

    def submit(request: SubmitRequest) -> None:
        if request.job == JOB:
            raise ProgramError("no")
        submitted.append(request.job)

    assert jobs.recover(ha.job_store.take_over(2), submit) == 1

    assert submitted == ["cd" * 16]
    assert len(ha.job_store.take_over(3).jobs) == 2


def test_a_job_that_has_ended_is_not_taken_up(ha: HighAvailability, tmp_path: Path) -> None:
    ha.job_store.take_over(1)
    jobs = kept(ha, sent(tmp_path / "first"))
    jobs.keep(request())

    jobs.ended(report("FAILED"))

    found = ha.job_store.take_over(2)
    assert found.jobs == ()
    assert found.ended[0].status is JobStatus.FAILED


def test_the_end_of_a_job_under_another_leader_changes_nothing(
    ha: HighAvailability, config: dict[str, str], tmp_path: Path
) -> None:
    ha.job_store.take_over(1)
    jobs = kept(ha, sent(tmp_path / "first"))
    jobs.keep(request())
    other = high_availability(config)
    assert other is not None
    other.job_store.take_over(2)

    jobs.ended(report("CANCELED"))

    with pytest.raises(NotLeading):
        jobs.keep(request("cd" * 16))
    assert [job.job_id for job in other.job_store.take_over(3).jobs] == [JOB]


def test_a_deposed_leader_ends_its_process_at_once() -> None:
    left: list[int] = []
    role = LeaderRole(left.append)
    role.on_elected(3)

    role.on_deposed(3)

    assert left == [DEPOSED]
    role.ending = True
    role.on_deposed(3)
    assert left == [DEPOSED]
    assert role.news.get_nowait() == 3


def led(config: dict[str, str], manager: Manager, left: list[int]) -> LedJobManager:
    make: Any = lambda config, *, session: manager  # noqa: E731
    return LedJobManager.create(config, make=make, leave=left.append)


def test_it_leads_and_hands_over(
    config: dict[str, str], ha: HighAvailability, tmp_path: Path
) -> None:
    left: list[int] = []
    manager = Manager(tmp_path / "one")
    leading = led(config, manager, left)
    assert ha.find_leader() is None
    sent(tmp_path / "one")
    manager.submissions.submit(request())

    assert leading.serve() == manager.url == leading.url
    leading.close()

    assert (left, manager.story) == ([], ["loaded", "suspended", "closed"])
    assert ha.find_leader() is None
    # What becomes of the job here is of no interest any more.
    manager.ends[0](report("FAILED"))
    with pytest.raises(ExternalError, match="hands its jobs over"):
        manager.submissions.submit(request("cd" * 16))
    second = Manager(tmp_path / "two")
    following = led(config, second, left)
    assert [each.job for each in second.submissions.submitted] == [JOB]
    second.ends[0](report("FINISHED"))
    following.close()
    assert ha.job_store.take_over(99).jobs == ()


def test_a_cluster_that_is_given_up_leaves_no_job_behind(
    config: dict[str, str], ha: HighAvailability, tmp_path: Path
) -> None:
    left: list[int] = []
    manager = Manager(tmp_path / "one")
    leading = led(config, manager, left)
    sent(tmp_path / "one")
    manager.submissions.submit(request())
    asked = threading.Event()
    leading.serve(asked.set)

    manager.shut_down()
    leading.close()

    assert asked.is_set()
    assert (left, manager.story) == ([], ["loaded", "closed"])
    found = ha.job_store.take_over(99)
    assert found.jobs == ()
    assert found.ended[0].status is JobStatus.CANCELED


class EndsStandby(logging.Handler):
    """Tells this process to end as soon as it stands by."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "standing by":
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_standby_that_is_told_to_end_says_so(config: dict[str, str], tmp_path: Path) -> None:
    left: list[int] = []
    leading = led(config, Manager(tmp_path / "one"), left)
    before = signal.getsignal(signal.SIGTERM)
    log = logging.getLogger("riverrun.jobmanager.leading")
    log.setLevel(logging.INFO)
    ends = EndsStandby()
    log.addHandler(ends)

    standby = Manager(tmp_path / "two")

    with pytest.raises(StandbyEnded, match="SIGTERM while it stood by"):
        led(config, standby, left)

    log.removeHandler(ends)
    log.setLevel(logging.NOTSET)
    assert signal.getsignal(signal.SIGTERM) is before
    assert (left, standby.story) == ([], ["closed"])
    leading.close()


def test_on_a_cluster_nothing_is_started_before_it_leads(
    config: dict[str, str], tmp_path: Path
) -> None:
    manager = Manager(tmp_path / "one")
    made: list[bool] = []

    def make(config: dict[str, str], *, session: bool) -> Any:
        ha = high_availability(config)
        assert ha is not None
        lease = ha.leases().read().lease
        made.append(lease is not None and not lease.released)
        return manager

    for master in ("local[2]", "spark://host:7077"):
        LedJobManager.create(config | {"riverrun.master": master}, make=make).close()

    assert made == [False, True]


def test_without_high_availability_there_is_nothing_to_lead() -> None:
    with pytest.raises(ConfigError, match="expected another type"):
        LedJobManager.create({})
