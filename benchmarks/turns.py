"""Systems that take turns: round by round, each in a process of its own."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from benchmarks.measurement import Measurement
from benchmarks.setup_peers import PeerUnavailable, ensure
from benchmarks.systems import RunFailed, System


def chosen(
    systems: Mapping[str, System], only: Sequence[str] | None, console: Console, *, peers: bool
) -> list[System]:
    """The systems asked for, the environments of the peers among them made where missing."""
    result = []
    for name in only or systems:
        if systems[name].is_peer and not peers:
            continue
        peer = systems[name].environment
        if peer is not None:
            try:
                ensure(peer)
            except PeerUnavailable as error:
                console.print(f"left out: {error}", style="red", markup=False)
                continue
        result.append(systems[name])
    return result


def take_turns(
    systems: Sequence[System],
    workloads: Sequence[str],
    console: Console,
    *,
    rounds: int,
    quick: bool,
) -> tuple[list[Measurement], int]:
    """All measurements, and how many runs gave none; a system sits out where it has no sizes."""
    measurements: list[Measurement] = []
    failures = 0
    for turn in range(rounds):
        for workload in workloads:
            for system in systems:
                if workload not in system.cases:
                    continue
                what = f"round {turn + 1}/{rounds}  {workload:<9}  {system.name:<8}"
                done = _measure(console, what, system, workload, quick=quick)
                if done is None:
                    failures += 1
                else:
                    measurements.append(done)
    return measurements, failures


def _measure(
    console: Console, what: str, system: System, workload: str, *, quick: bool
) -> Measurement | None:
    try:
        with console.status(what):
            measurement = system.run(workload, quick=quick)
        console.print(f"{what}  {measurement.rate:>12,.0f} records/s", highlight=False)
    except (RunFailed, ValueError) as error:
        console.print(f"{what}  failed: {error}", style="red", markup=False)
        return None
    return measurement
