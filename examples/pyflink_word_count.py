"""A plain PyFlink script: not one line of it knows riverrun.

Run it: river run --pyflink examples/pyflink_word_count.py
"""

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

LINES = ["to be or not to be", "that is the question"]


def split(line: str) -> Iterator[str]:
    yield from line.split()


def word_count() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)

    ds = env.from_collection(LINES, type_info=Types.STRING())
    ds = (
        ds.flat_map(split, output_type=Types.STRING())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    ds.print()

    env.execute("word count")


if __name__ == "__main__":
    word_count()
