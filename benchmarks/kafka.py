"""Kafka -> key_by -> count -> Kafka on riverrun and PyFlink, one broker, one program: ``python -m benchmarks.kafka``.

Both run benchmarks/peers/kafka_count.py at parallelism 2, at least once and exactly once, in turns. A rate counts
from the moment the last function is open until the broker has the last committed message.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from rich.console import Console
from rich.table import Table

from benchmarks.setup_peers import CACHE, PEERS, ROOT, ensure
from tests.servers.kafka import KafkaBroker

PARTITIONS: Final = 4
KEYS: Final = 1000
_JAR: Final = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
_PROGRAM: Final = ROOT / "benchmarks" / "peers" / "kafka_count.py"
GUARANTEES: Final = ("AT_LEAST_ONCE", "EXACTLY_ONCE")


@dataclass(frozen=True, slots=True)
class Rate:
    """One run."""

    system: str
    guarantee: str
    records: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Records a second."""
        return self.records / self.seconds


def main() -> int:
    """Measure, print the table and the ratios; 1 when records are missing or repeated."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("riverrun", "pyflink"), action="append")
    arguments = parser.parse_args()
    systems = arguments.only or ["riverrun", "pyflink"]
    console = Console()
    folder = Path(tempfile.mkdtemp(prefix="benchmark-kafka-"))
    broker = KafkaBroker(folder)
    broker.start()
    try:
        source = broker.create_topic(partitions=PARTITIONS)
        _fill(broker, source, arguments.records)
        rates = [
            _run(broker, source, system, guarantee, arguments.records, console)
            for _ in range(arguments.rounds)
            for guarantee in GUARANTEES
            for system in systems
        ]
    finally:
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)
    console.print(_table(rates))
    for line in _ratios(rates):
        console.print(line)
    return 0


def _fill(broker: KafkaBroker, topic: str, records: int) -> None:
    producer = Producer(broker.client(linger_ms=50, batch_num_messages=10_000))
    for number in range(records):
        while True:
            try:
                producer.produce(
                    topic, f"user-{number * 7919 % KEYS},{number}", partition=number % PARTITIONS
                )
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()


def _run(
    broker: KafkaBroker, source: str, system: str, guarantee: str, records: int, console: Console
) -> Rate:
    target = f"target-{uuid.uuid4().hex}"
    topic = NewTopic(target, PARTITIONS, 1, config={"message.timestamp.type": "LogAppendTime"})
    admin = broker.admin()
    for future in admin.create_topics([topic]).values():
        future.result(30)
    with tempfile.TemporaryDirectory() as stamps, tempfile.TemporaryDirectory() as checkpoints:
        options = {
            "servers": broker.bootstrap_servers,
            "source": source,
            "target": target,
            "guarantee": guarantee,
            "stamps": stamps,
            "checkpoints": f"file://{checkpoints}",
        }
        flags = [text for name, value in options.items() for text in (f"--{name}", value)]
        done = subprocess.run(_command(system, flags), cwd=ROOT, check=False, **_QUIET)  # type: ignore[call-overload]
        if done.returncode:
            raise SystemExit(f"{system}: {done.stdout[-4000:]}")
        opened = max(float(path.read_text()) for path in Path(stamps).glob("open-*"))
    messages = [each for found in broker.consume(target).values() for each in found]
    _check(messages, records, system)
    last = max(message.timestamp()[1] for message in messages) / 1000
    rate = Rate(system, guarantee, records, last - opened)
    console.print(f"{system:9} {guarantee:13} {rate.per_second:12,.0f} records/s")
    for future in admin.delete_topics([target]).values():
        future.result(30)
    return rate


_QUIET: Final = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def _command(system: str, flags: Sequence[str]) -> list[str]:
    if system == "pyflink":
        python = str(ensure(PEERS["pyflink"]))
        return [python, str(_PROGRAM), *flags, "--jar", str(_connector())]
    river = [sys.executable, "-c", "from riverrun.cli.main import main; main()", "run", "--pyflink"]
    return [*river, "-Driverrun.master=local[2]", str(_PROGRAM), *flags]


def _connector() -> Path:
    """PyFlink's Kafka connector, fetched once."""
    name = "-".join(_JAR.split(":")[1:])
    jar = CACHE / f"{name}.jar"
    if not jar.exists():
        copy = ["mvn", "-q", "dependency:copy", f"-Dartifact={_JAR}", f"-DoutputDirectory={CACHE}"]
        subprocess.run(copy, check=True)
    return jar


def _check(messages: Sequence[object], records: int, system: str) -> None:
    """Each key counts to its end, once."""
    counts: dict[str, list[int]] = {}
    for message in messages:
        key, _, count = message.value().decode().partition(",")  # type: ignore[attr-defined]
        counts.setdefault(key, []).append(int(count))
    wrong = [
        key for key, found in counts.items() if sorted(found) != list(range(1, len(found) + 1))
    ]
    if len(messages) != records or wrong:
        raise SystemExit(
            f"{system}: {len(messages)} of {records} messages, {len(wrong)} keys wrong"
        )


def _median(rates: Sequence[Rate], system: str, guarantee: str) -> float:
    found = [r.per_second for r in rates if (r.system, r.guarantee) == (system, guarantee)]
    return statistics.median(found) if found else float("nan")


def _table(rates: Sequence[Rate]) -> Table:
    table = Table("system", *GUARANTEES, title="records/s, median")
    for system in dict.fromkeys(rate.system for rate in rates):
        table.add_row(system, *(f"{_median(rates, system, each):,.0f}" for each in GUARANTEES))
    return table


def _ratios(rates: Sequence[Rate]) -> list[str]:
    figures = {
        f"riverrun / PyFlink, {guarantee}": _median(rates, "riverrun", guarantee)
        / _median(rates, "pyflink", guarantee)
        for guarantee in GUARANTEES
    }
    figures["exactly once / at least once, riverrun"] = _median(
        rates, "riverrun", GUARANTEES[1]
    ) / _median(rates, "riverrun", GUARANTEES[0])
    return [json.dumps({name: round(value, 2)}) for name, value in figures.items()]


if __name__ == "__main__":
    raise SystemExit(main())
