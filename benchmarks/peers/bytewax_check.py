"""Whether what is measured on Bytewax is right, as ``python -m benchmarks.peers.bytewax_check [WORKLOAD ...]``."""

import sys
from argparse import Namespace
from typing import Any

from benchmarks.peers import bytewax_peer, bytewax_windows
from benchmarks.peers.bytewax_cluster import results_of
from benchmarks.peers.expected import RECORDS, compare
from benchmarks.workloads import CHAIN, JOIN, KEYED, LARGE_RECORDS, STATELESS


def _plain(workload: str, results: list[Any]) -> list[Any]:
    """The results as the plain loops give them."""
    if workload in (STATELESS, JOIN, CHAIN):
        return results
    values = [value for _, value in results]
    if workload == LARGE_RECORDS:
        return values
    if workload in bytewax_windows.WORKLOADS:
        return [value for _, value in values]
    last: dict[int, int] = {}
    for key, value in results:
        total = value[1] if workload == KEYED else value
        last[int(key)] = max(total, last.get(int(key), 0))
    return list(last.items())


def check(workload: str) -> None:
    """Fail unless the results are right, and no record was late."""
    module = bytewax_peer if workload in bytewax_peer.WORKLOADS else bytewax_windows
    arguments = Namespace(workload=workload, **module.SETTINGS)
    found = results_of(module.FLOW, arguments, RECORDS.get(workload, 20_000))
    if late := found.get("late"):
        raise SystemExit(f"bytewax {workload}: {len(late)} records were late, expected none")
    compare("bytewax", workload, _plain(workload, found["results"]))


if __name__ == "__main__":
    for name in sys.argv[1:] or (*bytewax_peer.WORKLOADS, *bytewax_windows.WORKLOADS):
        check(name)
