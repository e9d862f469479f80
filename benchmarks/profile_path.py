"""Where the time of key_by + reduce goes: each stage of the record's path alone, in this process.

``python -m benchmarks.profile_path``: nanoseconds per record of the user's own code, and of what the
engine does around it. What is left between the sum and a measured run (two processes a core, Arrow
rows, sockets, Spark) is the transport, which only a real run shows.
"""

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, cast

from rich.console import Console
from rich.table import Table

from benchmarks.measurement import PARALLELISM
from benchmarks.state_access import a_backend
from benchmarks.workloads import Transaction, add_amounts, customer_of, transaction
from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.core.clock import SystemClock
from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import Hash
from riverrun.graph.specs import ReduceSpec
from riverrun.protocol.frames import decode_elements
from riverrun.runtime.buffers import Producer
from riverrun.runtime.operator_states import OperatorStates
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.operators.reduce import ReduceOperator
from riverrun.runtime.output import EdgeOutput, Outbox
from riverrun.serde.infer import return_type_of
from riverrun.serde.runs import codec_for, decode_run
from riverrun.serde.type_info import TypeInformation

_RUN: Final = 16_384
_REPEATS: Final = 20
_MAX_PARALLELISM: Final = 128
_FRAME_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of the path; ``work`` handles one run of records."""

    name: str
    whose: str
    work: Callable[[], object]


class _NoClient:
    def send(self, values: Any, commit: str | None = None) -> None:
        """Nothing collects here."""


def nanoseconds(stage: Stage, repeats: int) -> float:
    """The best time per record over ``repeats`` runs: the least disturbed one."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter_ns()
        stage.work()
        best = min(best, time.perf_counter_ns() - started)
    return best / _RUN


def stages(type_info: TypeInformation | None) -> list[Stage]:
    """The stages in the order in which a record meets them, on a stream of this type."""
    values = list(map(transaction, range(_RUN)))
    codec = codec_for(type_info)
    encoded = codec.encode(values)
    send = _sender(type_info)
    frames = send(values)
    operator = _reduce()

    def decode() -> object:
        return [
            decode_elements(frame, lambda tag, data: decode_run(tag, data, type_info))
            for _, frame in frames
            if frame
        ]

    return [
        Stage("generator", "user", lambda: list(map(transaction, range(_RUN)))),
        Stage("key selector, to route", "user", lambda: [customer_of(value) for value in values]),
        Stage("encode a run", "engine", lambda: codec.encode(values)),
        Stage("route, encode and frame (with the key selector)", "both", lambda: send(values)),
        Stage("decode a run", "engine", lambda: codec.decode(encoded)),
        Stage("decode frames", "engine", decode),
        Stage("reduce function", "user", lambda: [add_amounts(value, value) for value in values]),
        Stage("key selector, to reduce", "user", lambda: [customer_of(value) for value in values]),
        Stage(
            "reduce operator (with key selector and function)",
            "both",
            lambda: operator.process(values, None, _discard),
        ),
    ]


def _discard(values: list[Any], timestamps: list[int] | None) -> None:
    del values, timestamps


def _edge(type_info: TypeInformation | None) -> OutEdge:
    consumers = tuple(range(PARALLELISM))
    return OutEdge(
        edge=EdgeId(0),
        operator=0,
        tag=None,
        partitioning=Hash(customer_of),
        consumers=consumers,
        consumer_parallelism=PARALLELISM,
        max_parallelism=_MAX_PARALLELISM,
        targets={consumer: consumer for consumer in consumers},
        type_info=type_info,
    )


def _sender(
    type_info: TypeInformation | None,
) -> Callable[[list[Transaction]], list[tuple[int, bytes]]]:
    """Sends runs over one edge: the router remembers its keys from run to run, as in a task."""
    outbox = Outbox()
    output = EdgeOutput(
        _edge(type_info),
        producer=Producer("source", subtask=0, attempt=0),
        frame_bytes=_FRAME_BYTES,
        outbox=outbox,
        rng=random.Random(0),
    )

    def send(values: list[Transaction]) -> list[tuple[int, bytes]]:
        output.emit(values, None)
        output.flush()
        return outbox.take()

    return send


class _NoTime:
    def watermark(self, time: int) -> None:
        """Nobody is downstream."""

    def status(self, *, idle: bool) -> None:
        """Nobody is downstream."""


def _reduce() -> ReduceOperator:
    operator = ReduceOperator(ReduceSpec(add_amounts))
    operator.open(
        OperatorContext(
            name="reduce",
            operator_id="reduce",
            runtime=DetachedRuntimeContext("reduce"),
            clock=SystemClock(),
            key_selector=customer_of,
            second_key_selector=None,
            emit=_discard,
            side_output=lambda _tag: _discard,
            time_output=_NoTime(),
            wake=lambda: None,
            to_client=_NoClient(),
            subtask=0,
            parallelism=1,
            states=cast(
                "OperatorStates", SimpleNamespace(keyed=a_backend("hashmap", incremental=False))
            ),
            value_type=None,
            checkpointing=False,
            final_checkpoint=False,
            config={},
        )
    )
    return operator


def main() -> None:
    """Time every stage for pickled and for typed streams and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_path", description=__doc__)
    parser.add_argument("--repeats", type=int, default=_REPEATS)
    arguments = parser.parse_args()
    typed = return_type_of(transaction)
    console = Console()
    with console.status("timing the stages"):
        pickled_ns = [nanoseconds(stage, arguments.repeats) for stage in stages(None)]
        typed_ns = [nanoseconds(stage, arguments.repeats) for stage in stages(typed)]
    table = Table(title=f"nanoseconds per record, runs of {_RUN:,} records")
    table.add_column("stage")
    table.add_column("whose")
    table.add_column("pickled", justify="right")
    table.add_column("typed", justify="right")
    for stage, untyped, arrow in zip(stages(None), pickled_ns, typed_ns, strict=True):
        table.add_row(stage.name, stage.whose, f"{untyped:.0f}", f"{arrow:.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
