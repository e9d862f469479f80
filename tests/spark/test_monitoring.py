"""A running job can be watched: metrics, logs, threads, and where its time goes."""

from __future__ import annotations

import json
import logging
import re
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from riverrun.core.lifecycle import JobStatus
from riverrun.testing.waiting import wait_until
from tests.spark.conftest import MakeEnv, await_status, endless, sums

pytestmark = pytest.mark.spark

_RECORDS = "flink_taskmanager_job_task_numRecordsIn"


def counts_primes(value: tuple[int, int]) -> tuple[int, int]:
    """Takes its time, with the interpreter's own work."""
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
    return value


def talks(value: tuple[int, int]) -> tuple[int, int]:
    logging.getLogger("my.function").info("took password=abc of %s", value[0])
    print("printed", value[0])  # noqa: T201
    return value


def test_a_running_job_can_be_watched(
    make_env: MakeEnv, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = make_env(
        parallelism=1,
        config={
            "riverrun.rest.enabled": "true",
            "rest.bind-port": "0",
            "env.log.dir": str(tmp_path / "logs"),
            "metrics.reporters": "json",
            "metrics.reporter.json.interval": "1 s",
            "riverrun.metrics.interval": "200 ms",
        },
    )
    busy = sums(endless(env, rate=200.0).map(talks)).map(counts_primes).name("primes")
    busy.add_sink(lambda _: None)
    job = env.execute_async("watched")
    await_status(job)
    found = re.search(r"JobManager: (\S+)", capsys.readouterr().err)
    assert found is not None
    page = Page(found[1])

    wait_until(page.records, what="records on Prometheus' page", timeout_s=30)
    jid = page.json("/jobs")["jobs"][0]["id"]
    vertex = next(
        each["id"] for each in page.json(f"/jobs/{jid}")["vertices"] if "primes" in each["name"]
    )
    graph = f"/jobs/{jid}/vertices/{vertex}/flamegraph?type=ON_CPU"
    assert page.json(graph) == {"endTimestamp": -3}
    wait_until(lambda: "data" in page.json(graph), what="a flame graph", timeout_s=60)
    assert "counts_primes" in page.text(graph)

    threads = page.json("/taskmanagers/driver/thread-dump")["threadInfos"]
    assert any("primes" in thread["threadName"] for thread in threads)
    log = page.text("/taskmanagers/driver/log")
    assert re.search(r"my\.function \[Source: numbers.*\(1/1\)#0\] took password=\*+ of", log)
    assert "printed 3\n" in page.text("/taskmanagers/driver/stdout")
    assert f"job is RUNNING job={jid}" in page.text(f"/jobmanager/logs/job-{jid}.log")
    accumulated = page.json(f"/jobs/{jid}/vertices/{vertex}")["subtasks"][0]["metrics"]
    assert accumulated["accumulated-busy-time"] > 0

    job.cancel().result()
    await_status(job, JobStatus.CANCELED)
    env.close()
    lines = (tmp_path / "logs" / "metrics.jsonl").read_text().splitlines()
    kinds = {json.loads(line)["kind"] for line in lines}
    assert "taskmanager.job.task.operator" in kinds


class Page:
    """The REST interface."""

    def __init__(self, url: str) -> None:
        self._url = url

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self._url + path, timeout=30) as answer:
            return str(answer.read().decode())

    def json(self, path: str) -> Any:
        return json.loads(self.text(path))

    def records(self) -> bool:
        """Whether the page of Prometheus has records of the task that counts."""
        families = text_string_to_metric_families(self.text("/metrics"))
        return any(
            sample.value > 0 and "primes" in sample.labels["task_name"]
            for family in families
            if family.name == _RECORDS
            for sample in family.samples
        )
