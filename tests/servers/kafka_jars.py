"""Apache Kafka's server, fetched once per machine into the ignored folder ``.cache/kafka``.

Maven fetches it where there is one, otherwise Ivy, whose jar comes with Spark. The folder also holds a
formatted storage directory, so that a broker starts without running the storage tool first.
"""

from __future__ import annotations

import fcntl
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from riverrun.spark.java import find_java

VERSION = "4.1.0"
_HERE = Path(__file__).parent
_CACHE = _HERE.parent.parent / ".cache" / "kafka"
# Any cluster id will do, in the 16 bytes as base64 that Kafka wants.
_CLUSTER = "cml2ZXJydW4tdGVzdHMxMg"


class KafkaUnavailableError(Exception):
    """There is no Kafka to test with; the text says why."""


def java_executable() -> str:
    """The Java that runs the broker.

    Raises:
        KafkaUnavailableError: there is none.
    """
    java = find_java()
    if java is None:
        raise KafkaUnavailableError("no Java 17 or 21 was found")
    return str(java.path / "bin" / "java")


def kafka_folder() -> Path:
    """The folder with ``jars`` and ``formatted``, made by whoever comes first.

    Raises:
        KafkaUnavailableError: it could not be fetched.
    """
    home = _CACHE / VERSION
    if home.exists():
        return home
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / f"{VERSION}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            made = Path(tempfile.mkdtemp(prefix=f"{VERSION}-", dir=_CACHE))
            try:
                _fetch(made / "jars")
                _format(made)
                made.rename(home)
            finally:
                shutil.rmtree(made, ignore_errors=True)
    return home


def _fetch(jars: Path) -> None:
    maven = shutil.which("mvn")
    command = _maven(maven, jars) if maven else _ivy(jars)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode or not list(jars.glob("kafka-server-*.jar")):
        raise KafkaUnavailableError(
            f"{Path(command[0]).name} could not fetch Kafka {VERSION}: "
            f"{(done.stdout + done.stderr)[-2000:]}"
        )


def _maven(maven: str, jars: Path) -> list[str]:
    return [
        maven,
        *("--quiet", "--batch-mode", "--file", str(_HERE / "kafka_pom.xml")),
        "dependency:copy-dependencies",
        f"-Dkafka.version={VERSION}",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={jars}",
    ]


def _ivy(jars: Path) -> list[str]:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    found = list((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise KafkaUnavailableError("neither Maven nor Ivy was found")
    return [
        java_executable(),
        *("-cp", str(found[0]), "org.apache.ivy.Main", "-warn", "-cache", str(jars.parent / "ivy")),
        *("-dependency", "org.apache.kafka", "kafka_2.13", VERSION, "-confs", "default"),
        *("-retrieve", f"{jars}/[artifact]-[revision].[ext]", "-types", "jar", "bundle"),
    ]


def _format(home: Path) -> None:
    settings = home / "format.properties"
    settings.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        "controller.quorum.voters=1@127.0.0.1:1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\n"
        f"log.dirs={home / 'formatted'}\n"
    )
    subprocess.run(
        [
            java_executable(),
            *("-cp", f"{home / 'jars'}/*", "kafka.tools.StorageTool", "format"),
            *("--cluster-id", _CLUSTER, "--config", str(settings)),
        ],
        check=True,
        capture_output=True,
    )
