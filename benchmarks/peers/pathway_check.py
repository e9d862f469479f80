"""Whether what is measured on Pathway is right, as ``python -m benchmarks.peers.pathway_check [WORKLOAD ...]``."""

import sys
from argparse import Namespace
from typing import Any

from benchmarks.payments import WINDOW_MS
from benchmarks.peers import pathway_peer, pathway_windows
from benchmarks.peers.expected import RECORDS, compare
from benchmarks.peers.pathway_processes import results_of
from benchmarks.workloads import COLUMNS, SKEWED, STATE, SUBTASKS


def _plain(workload: str, row: tuple[Any, ...]) -> Any:
    """A row of the result as the plain loops give it."""
    if workload == COLUMNS:
        customer, start, *values = row
        return customer, start + WINDOW_MS, *values
    if workload in (STATE, SKEWED, *SUBTASKS):
        return row
    # The others have one column, or keys before their last one.
    return row[-1]


def check(workload: str) -> None:
    """Fail unless the results are right."""
    module = pathway_peer if workload in pathway_peer.WORKLOADS else pathway_windows
    arguments = Namespace(workload=workload, **module.SETTINGS)
    rows = results_of(module.MODULE, arguments, RECORDS.get(workload, 20_000))
    compare("pathway", workload, [_plain(workload, row) for row in rows.elements()])


if __name__ == "__main__":
    for name in sys.argv[1:] or (*pathway_peer.WORKLOADS, *pathway_windows.WORKLOADS):
        check(name)
