"""``river cluster``: what it shows, refuses and ends; a real one is in the Spark tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from riverrun.cli import detached_cluster
from riverrun.cli.detached_cluster import end_process, start_detached
from riverrun.core.errors import ExternalError
from riverrun.jobmanager.local_clusters import LocalCluster, birth_of, noted
from tests.unit.cli.conftest import Cluster, MakeCluster, River


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with SIGTERM."""
    code = "import sys; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
        started.kill()


def cluster_of(process: subprocess.Popen[bytes], url: str) -> LocalCluster:
    here = LocalCluster.of_this_process(url, master="local[2]", started=1, log="/logs/jm.log")
    return msgspec.structs.replace(here, pid=process.pid, born=birth_of(process.pid) or "")


class TestStatus:
    def test_it_is_shown_with_its_slots_and_jobs(self, river: River, cluster: Cluster) -> None:
        said = river("cluster", "status")

        facts = dict(line.rsplit(maxsplit=1) for line in said.out.splitlines() if line.strip())
        assert said.code == 0
        assert facts["url"] == cluster.url
        assert (facts["master"], facts["log"]) == ("local[2]", "/logs/jm.log")
        assert (facts["slots total"], facts["slots free"], facts["jobs running"]) == ("4", "1", "1")

    def test_machines_get_the_same(self, river: River, cluster: Cluster) -> None:
        facts = river("cluster", "status", "--json").json

        assert (facts["url"], facts["pid"]) == (cluster.url, os.getpid())
        assert facts["task_managers"] == 1

    def test_of_one_elsewhere_only_what_it_says_is_known(
        self, river: River, make_cluster: MakeCluster
    ) -> None:
        elsewhere = make_cluster()

        facts = river("cluster", "status", "-m", elsewhere.place, "--json").json

        assert (facts["url"], facts["pid"], facts["log"]) == (elsewhere.url, None, None)

    def test_without_one_the_code_says_so(self, river: River) -> None:
        assert river("cluster", "status").code == 3
        assert river("cluster", "stop").code == 3


class TestStop:
    def test_one_of_this_machine_is_ended_and_waited_for(
        self, river: River, make_cluster: MakeCluster, process: subprocess.Popen[bytes]
    ) -> None:
        there = make_cluster()
        with noted(cluster_of(process, there.url), os.environ):
            said = river("cluster", "stop")

        assert (said.code, said.out) == (0, f"JobManager {there.url} ended\n")
        assert process.wait() < 0

    def test_one_elsewhere_is_asked(self, river: River, make_cluster: MakeCluster) -> None:
        elsewhere = make_cluster()

        said = river("cluster", "stop", "-m", elsewhere.place)

        assert (said.code, said.out) == (0, f"JobManager {elsewhere.url} ends\n")
        assert elsewhere.ended == ["asked"]

    def test_one_that_does_not_end_is_named_with_its_log(
        self, make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "kill", lambda *_: None)
        here = LocalCluster.of_this_process("http://h:1", master="local", started=1, log="/l.log")

        with pytest.raises(ExternalError, match=f"process {os.getpid()} still lives .* /l.log"):
            end_process(here, 0)


class TestStart:
    def test_a_second_one_on_the_same_port_is_refused_with_the_first(
        self, river: River, cluster: Cluster
    ) -> None:
        said = river("cluster", "start", "--port", cluster.server.address[1], "-d")

        assert said.code == 1
        assert f"one serves at {cluster.url} already (process {os.getpid()})" in said.err

    def test_an_address_that_is_open_to_anybody_is_a_wrong_use(self, river: River) -> None:
        said = river("cluster", "start", "--host", "0.0.0.0", "-d")

        assert said.code == 2
        assert "which other machines can reach" in said.err

    def test_a_log_that_cannot_be_written_is_a_wrong_use(self, river: River) -> None:
        said = river("cluster", "start", "-d", "--port", "0", "--log-file", "/no/such/folder/log")

        assert said.code == 2
        assert "cannot be written" in said.err

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("raise SystemExit('no Java here')", "ended with code 1.*\n.*no Java here"),
            ('os.write(fd, b\'{"error": "no port is free"}\')', "^no port is free"),
            ("import time; time.sleep(60)", "does not serve after 0.5 s"),
        ],
    )
    def test_why_it_did_not_come_to_serve_is_told(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, words: str
    ) -> None:
        (tmp_path / "fake_process.py").write_text(f"import os, sys\nfd = int(sys.argv[1])\n{code}")
        monkeypatch.setattr(detached_cluster, "_MODULE", "fake_process")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        timeout_s = 0.5 if "sleep" in code else 60

        with pytest.raises(ExternalError, match=words):
            start_detached({}, os.environ, timeout_s=timeout_s)

    def test_only_the_latest_logs_are_kept(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state_folder: Path
    ) -> None:
        logs = state_folder / "logs"
        logs.mkdir(parents=True)
        for day in range(10, 40):
            (logs / f"jobmanager-202601{day}-000000-1.log").touch()
        monkeypatch.setattr(detached_cluster, "_MODULE", "no_such_module")

        with pytest.raises(ExternalError, match="no_such_module"):
            start_detached({}, os.environ)

        assert len(list(logs.iterdir())) == 20
        assert (logs / "jobmanager-20260139-000000-1.log").exists()

    def test_one_that_stands_by_is_left_behind(
        self, river: River, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "fake_process.py").write_text("import signal; signal.pause()")
        monkeypatch.setattr(detached_cluster, "_MODULE", "fake_process")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        shared = ("high-availability.type=filesystem", f"high-availability.storageDir={tmp_path}")
        options = [word for each in shared for word in ("-D", each)]

        said = river("cluster", "start", "-d", "--port", "0", "--timeout", 1, *options)

        assert said.code == 0
        found = re.search(r"process (\d+) stands by, because another one leads", said.err)
        assert found is not None
        os.kill(int(found[1]), signal.SIGKILL)
        os.waitpid(int(found[1]), 0)


@pytest.mark.parametrize("master", ["in-process", "http://jobs:8081"])
def test_a_job_manager_needs_spark(river: River, master: str) -> None:
    said = river("cluster", "start", "--master", master)

    assert said.code == 2
    assert "runs its jobs on Spark" in " ".join(said.err.replace("│", " ").split())
