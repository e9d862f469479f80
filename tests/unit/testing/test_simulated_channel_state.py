"""Jobs that go on from unaligned checkpoints with another parallelism lose and repeat nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from riverrun.checkpoint import restore
from riverrun.checkpoint.saved_operators import SavedOperator
from riverrun.protocol.snapshots import OperatorStatePart
from riverrun.runtime import restored_channels
from riverrun.testing.simulate import Faults, SimulationFailed, Variety, simulate
from tests.unit.testing.rescaled_programs import PROGRAMS

RESCALED = Variety(modes=("unaligned", "aligned-timeout"), parallelism=(1, 2, 3, 5))
OFTEN = Faults(master_crashes=4)
"""Each JobMaster takes another parallelism."""

RUNS = {
    "in order by key": 40,
    "broadcast": 30,
    "custom": 30,
    "anywhere": 10,
    "keyed without exchange": 15,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_in_flight_survives_another_parallelism(name: str) -> None:
    simulate(PROGRAMS[name], seeds=range(RUNS[name]), faults=OFTEN, variety=RESCALED)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_in_flight_survives_very_many_runs(name: str) -> None:
    seeds = range(10_000, 10_000 + 20 * RUNS[name])
    simulate(PROGRAMS[name], seeds=seeds, faults=OFTEN, variety=RESCALED)


def found(name: str) -> str:
    with pytest.raises(SimulationFailed) as caught:
        simulate(PROGRAMS[name], seeds=range(200), faults=OFTEN, variety=RESCALED)
    return caught.value.reason


def test_a_subtask_that_keeps_records_of_others_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restored_channels, "_rule", lambda *_: None)

    assert "too many" in found("custom")


def test_broadcast_state_of_one_and_records_of_another_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of_another(
        saved: SavedOperator,
        parts: Sequence[tuple[int, OperatorStatePart]],
        index: int,
        parallelism: int,
    ) -> Iterable[Any]:
        del saved, parallelism
        return [parts[(index + 1) % len(parts)][1]]

    monkeypatch.setattr(restore, "_broadcast", of_another)

    assert "rule" in found("broadcast")
