"""A Spark standalone cluster on this machine, started from the installed pyspark package."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from riverrun.spark.java import ensure_java_home
from riverrun.testing.waiting import wait_until

_HOST: Final = "127.0.0.1"
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_START_S: Final = 120.0
_QUICK_START: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class StandaloneCluster:
    """One master and ``workers`` workers on the loopback interface; a context manager.

    An application gets one executor on each worker. Logs and work folders are below ``folder``.
    """

    def __init__(
        self, folder: Path, *, workers: int = 2, cores: int = 1, memory: str = "1g"
    ) -> None:
        self._folder = folder
        self._workers = workers
        self._size = ("--cores", str(cores), "--memory", memory)
        self._port = _free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        """The address to give as ``riverrun.master``."""
        return f"spark://{_HOST}:{self._port}"

    def __enter__(self) -> Self:
        try:
            self._start("master", (_MASTER, "--host", _HOST, "--port", str(self._port)))
            self._await_log("master", "I have been elected leader")
            for number in range(self._workers):
                self._start_worker(number)
            for number in range(self._workers):
                self._await_worker(number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes of the cluster, workers first."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(_START_S)
        self._processes.clear()

    def add_worker(self) -> int:
        """Start one more worker; applications that have not enough get an executor on it. Its number."""
        number, self._workers = self._workers, self._workers + 1
        self._start_worker(number)
        self._await_worker(number)
        return number

    def kill_worker(self, number: int) -> None:
        """Kill the worker and the executors on it, as if their machine had lost its power."""
        worker = psutil.Process(self._processes[number + 1].pid)
        for process in (worker, *worker.children(recursive=True)):
            process.kill()
        self._processes[number + 1].wait(_START_S)

    def log_of(self, name: str) -> str:
        """What ``master``, or ``worker-0`` and so on, wrote so far."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _start_worker(self, number: int) -> None:
        name = f"worker-{number}"
        place = ("--host", _HOST, "--work-dir", str(self._folder / name), *self._size)
        self._start(name, (_WORKER, *place, self.master))

    def _await_worker(self, number: int) -> None:
        self._await_log(f"worker-{number}", "Successfully registered with master")

    def _start(self, name: str, arguments: Sequence[str]) -> None:
        home = _spark_home()
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603  (Spark's own script)
                [str(home / "bin" / "spark-class"), *arguments, "--webui-port", "0"],
                env=self._environment(home),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)

    def _environment(self, home: Path) -> dict[str, str]:
        environment = dict(os.environ)
        ensure_java_home(environment)
        return environment | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": _HOST,
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _QUICK_START,
        }

    def _await_log(self, name: str, text: str) -> None:
        def written() -> bool:
            ended = [
                process.returncode for process in self._processes if process.poll() is not None
            ]
            if ended:
                raise RuntimeError(f"standalone cluster: {name} ended\n{self.log_of(name)}")
            return text in self.log_of(name)

        wait_until(written, what=f"{name} says {text!r}", timeout_s=_START_S)


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeError("standalone cluster: pyspark is not installed")
    return Path(spec.origin).parent


def _free_port() -> int:
    with socket.create_server((_HOST, 0)) as taken:
        port: int = taken.getsockname()[1]
        return port
