"""More than sixty operators in a row of vertices, each of one or two; some of them fan out and join again."""

from __future__ import annotations

from riverrun import DataGeneratorSource, StreamExecutionEnvironment

LAYERS = 17


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_source(DataGeneratorSource(lambda n: n, rate_per_second=2), None, "numbers")
    for layer in range(LAYERS):
        left = stream.rebalance().map(lambda n: n).name(f"left {layer}").filter(lambda n: n >= 0)
        if layer % 3 == 0:
            right = stream.rebalance().map(lambda n: -n).name(f"right {layer}").filter(bool)
            stream = left.name(f"keep left {layer}").union(right.name(f"keep right {layer}"))
        else:
            stream = left.name(f"keep {layer}").rebalance().map(lambda n: n).name(f"pass {layer}")
    stream.rebalance().map(lambda n: n).name("last").filter(lambda _: False).print().name("end")
    env.execute("long chain")


if __name__ == "__main__":
    main()
