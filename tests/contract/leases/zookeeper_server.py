"""A real ZooKeeper server, from the jars that come with Spark."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
from pathlib import Path

from riverrun.spark.java import find_java


class ZooKeeperServer:
    """Runs until it is closed."""

    def __init__(self, folder: Path) -> None:
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        java = find_java()
        assert java is not None
        jars = Path(spec.origin).parent / "jars"
        self._folder = folder
        self._command = [
            str(java.path / "bin" / "java"),
            "-Xmx128m",
            "-XX:TieredStopAtLevel=1",
            "-Dzookeeper.admin.enableServer=false",
            "-Dzookeeper.jmx.log4j.disable=true",
            "-cp",
            ":".join(
                str(jar)
                for name in (
                    "zookeeper",
                    "slf4j-api",
                    "netty",
                    "metrics-core",
                    "snappy",
                    "commons-io",
                )
                for jar in jars.glob(f"{name}-*.jar")
            ),
            "org.apache.zookeeper.server.ZooKeeperServerMain",
        ]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def quorum(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [*self._command, str(self.port), str(self._folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
