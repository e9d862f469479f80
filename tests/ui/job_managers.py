"""JobManagers in processes of their own, for the page to look at."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
import uuid
from pathlib import Path
from typing import Any, Final

from riverrun.testing import processes
from riverrun.testing.waiting import wait_until

ROOT: Final = Path(__file__).parents[2]
JOBS: Final = Path(__file__).parent / "jobs"
_JOB_MANAGER: Final = """
import json, os, signal, sys, threading
from riverrun.jobmanager.process import log_to_stderr, run_job_manager

def end_with_the_tests():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=end_with_the_tests, daemon=True).start()
log_to_stderr()
run_job_manager(json.loads(sys.argv[1]), lambda cluster: print(cluster.url, flush=True))
"""
_ENDED: Final = frozenset({"FINISHED", "CANCELED", "FAILED", "SUSPENDED"})


class JobManager:
    """One that runs; ``end`` ends it and sees that nothing of it is left."""

    def __init__(self, folder: Path, master: str, port: int = 0, **settings: str) -> None:
        """Start it.

        Args:
            folder: for its logs, checkpoints and savepoints.
            master: where its jobs run, such as ``local[2]``.
            port: where it serves; 0: on any that is free.
            settings: more of its options, ``__`` for a dot and ``_`` for a dash.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # Sockets live there, and the length of their paths is limited.
        self._scratch = tempfile.mkdtemp(prefix="ui-")
        self._mark = uuid.uuid4().hex
        self._variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RIVERRUN_STATE_DIR": str(folder / "state"),
            "TMPDIR": self._scratch,
            processes.MARK: self._mark,
        }
        config = {
            "riverrun.master": master,
            "rest.bind-port": str(port),
            "rest.port": str(port),
            "rest.flamegraph.enabled": "true",
            "env.log.dir": str(folder / "logs"),
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
            **{key.replace("__", ".").replace("_", "-"): each for key, each in settings.items()},
        }
        self._token = config.get("riverrun.rest.token")
        with (folder / "stderr").open("a") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _JOB_MANAGER, json.dumps(config)],
                cwd=folder,
                env=self._variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            self.kill()
            raise AssertionError((folder / "stderr").read_text())
        self.port = int(self.url.rpartition(":")[2])

    def get(self, path: str) -> Any:
        """The JSON of a GET of the REST interface: ``get("/jobs/overview")``."""
        return self.call("GET", path)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON that another method answers; raises ``urllib.error.HTTPError``."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else {}

    def submit(self, program: str, *arguments: object, parallelism: int = 1) -> str:
        """Run a program of ``tests/ui/jobs`` and leave it there; its job's id."""
        command = [sys.executable, "-m", "riverrun", "run", "-d", "-m", f"127.0.0.1:{self.port}"]
        command += ["-p", str(parallelism), str(JOBS / program), *map(str, arguments)]
        said = subprocess.run(
            command,
            cwd=self.folder,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"JobID ([0-9a-f]{32})", said.stdout)
        assert found, f"{' '.join(command)}: {said.returncode}\n{said.stdout}{said.stderr}"
        return found[1]

    def state(self, job: str) -> str:
        """Where a job stands: RUNNING, ..."""
        return str(self.get(f"/jobs/{job}/status")["status"])

    def await_state(self, job: str, state: str = "RUNNING") -> None:
        """Wait until a job is there."""
        wait_until(
            lambda: self.state(job) == state, what=f"the job {job} in {state}", timeout_s=120
        )

    def await_running(self, job: str) -> None:
        """Wait until all subtasks of a job run."""

        def all_run() -> bool:
            vertices = self.get(f"/jobs/{job}")["vertices"]
            running = [each["tasks"]["RUNNING"] == each["parallelism"] for each in vertices]
            return bool(running) and all(running)  # a job that was just sent has no vertices yet

        wait_until(all_run, what=f"all subtasks of {job} running", timeout_s=120)

    def cancel(self, job: str) -> None:
        """End a job, unless it has ended already."""
        if self.state(job) not in _ENDED:
            self.call("PATCH", f"/jobs/{job}?mode=cancel")
            wait_until(lambda: self.state(job) in _ENDED, what=f"the end of {job}", timeout_s=60)

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.communicate(timeout=30)
        processes.end(processes.marked(self._mark))
        shutil.rmtree(self._scratch)

    def end(self) -> None:
        """End it as an administrator does; nothing may be left."""
        self._process.send_signal(signal.SIGTERM)
        out, _ = self._process.communicate(timeout=120)
        said = f"{out}\n{(self.folder / 'stderr').read_text()}"
        assert self._process.returncode == 0, said
        wait_until(
            lambda: not [processes.describe(each) for each in processes.marked(self._mark)],
            what="no process of the JobManager left",
        )
        shutil.rmtree(self._scratch)
