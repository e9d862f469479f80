"""Send records that do not fit to a side output instead of failing the job.

Run it: python examples/side_outputs.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from riverrun import (
    CallbackSink,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    Types,
)

READINGS = ["21.5", "19", "warm", "22.25", "", "18.5"]
REJECTED = OutputTag("rejected", Types.STRING())


class Parse(ProcessFunction):
    """Numbers go to the main output, everything else to REJECTED."""

    def process_element(
        self, value: str, ctx: ProcessFunction.Context
    ) -> Iterator[float | tuple[OutputTag, str]]:
        del ctx
        try:
            yield float(value)
        except ValueError:
            yield REJECTED, value


def main() -> None:
    numbers: list[Any] = []
    rejected: list[Any] = []
    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2)
        parsed = env.from_collection(READINGS).rebalance().process(Parse(), Types.DOUBLE())
        parsed.sink_to(CallbackSink(numbers.append)).name("numbers")
        parsed.get_side_output(REJECTED).sink_to(CallbackSink(rejected.append)).name("rejected")
        env.execute("side outputs")
    print("numbers: ", sorted(numbers))
    print("rejected:", sorted(rejected))


if __name__ == "__main__":
    main()
