"""Python workers are killed at random moments, in every way to take checkpoints; results stay exact."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun.testing.waiting import Stopwatch
from tests.spark.allround.chaos import statistics
from tests.spark.allround.matrix import WAYS, Way
from tests.spark.allround.run import RECOVERING, all_round
from tests.spark.conftest import MakeEnv, Row

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "way",
    # Each mode with each backend at once; the rest of the combinations takes its time.
    [
        way if place % 2 == place // 2 % 2 else pytest.param(way, marks=pytest.mark.slow)
        for place, way in enumerate(WAYS)
    ],
    ids=str,
)
def test_results_are_exact_though_workers_are_killed_at_random_moments(
    make_env: MakeEnv, tmp_path: Path, way: Way, row: Row
) -> None:
    env = make_env(2, {**RECOVERING, **way.config})
    watch = Stopwatch()

    with all_round(env, tmp_path, seed=WAYS.index(way)) as run:
        run.chaos.kill_after_checkpoint()
        run.chaos.kill_within(2.0)

    figures = statistics(run.client)
    row(
        "workers killed with SIGKILL",
        {
            "way": way,
            "kills": run.chaos.kills,
            "of": " ".join(run.chaos.killed),
            "attempts": len(run.client.get_failures()) + 1,
            "restored": figures.counts.restored,
            "completed": figures.counts.completed,
            "failed": figures.counts.failed,
            "channel bytes": figures.summary.persisted_data.max,
            "seconds": f"{watch.seconds:.1f}",
        },
    )
    assert run.chaos.kills == 2
    assert figures.counts.completed > 0
