"""Count words: every word gives its count so far.

Run it: python examples/word_count.py
RIVERRUN_MASTER says where the job runs: local[*] (Spark, the default), in-process, ...
"""

from __future__ import annotations

from collections.abc import Iterator

from riverrun import StreamExecutionEnvironment

LINES = ["to be or not to be", "that is the question"]


def words(line: str) -> Iterator[tuple[str, int]]:
    for word in line.split():
        yield word, 1


def main() -> None:
    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2)
        counts = env.from_collection(LINES).flat_map(words).key_by(lambda pair: pair[0]).sum(1)
        with counts.execute_and_collect("word count") as results:
            final = dict(results)  # the last count of each word stays
    for word, count in sorted(final.items()):
        print(f"{word:<10}{count}")


if __name__ == "__main__":
    main()
