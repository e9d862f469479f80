"""See which subtask a record goes to, for each way to share records out.

Run it: python examples/partitioning.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from riverrun import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment

SUBTASKS = 3


class Stamp(MapFunction):
    """Puts the number of the subtask in front of each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[int, int]:
        return self.subtask, value


WAYS: dict[str, Callable[[DataStream], DataStream]] = {
    "rebalance": lambda numbers: numbers.rebalance(),
    "broadcast": lambda numbers: numbers.broadcast(),
    "global": lambda numbers: numbers.global_(),
    "custom": lambda numbers: numbers.partition_custom(lambda key, count: key % count, lambda n: n),
    "key_by": lambda numbers: numbers.key_by(lambda n: n % 10),
}


def main() -> None:
    with StreamExecutionEnvironment.get_execution_environment() as env:
        for name, way in WAYS.items():
            numbers = env.from_collection(range(90))
            stamped = way(numbers).map(Stamp()).set_parallelism(SUBTASKS)
            with stamped.execute_and_collect(name) as results:
                sizes = Counter(subtask for subtask, _ in results)
            print(f"{name:<10}", [sizes[subtask] for subtask in range(SUBTASKS)])


if __name__ == "__main__":
    main()
