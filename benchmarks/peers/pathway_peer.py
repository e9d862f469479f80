"""The workloads without event time on Pathway; run with its own interpreter.

The user's functions are applied to each row.

* The running sums are a stateful reducer in Python, which is called for each record and gives one update for each key
  and commit, not one for each record: Pathway has no step that would, so it does less than the others.
* ``large``: Pathway exchanges rows when they get other ids; those with the same number go to the same worker.
* ``chain``: a hundred ``select``.
"""

import pathway as pw

from benchmarks import blobs, steps
from benchmarks.peers.pathway_processes import PROCESS_SETTINGS, indexes, main
from benchmarks.workloads import (
    CHAIN,
    KEYED,
    LARGE_RECORDS,
    SKEWED,
    STATE,
    STATELESS,
    SUBTASKS,
    Transaction,
    add_amounts,
    customer_of,
    is_large,
    skewed_transaction,
    transaction,
    with_fee,
)

MODULE = "benchmarks.peers.pathway_peer"
SETTINGS = PROCESS_SETTINGS
WORKLOADS = (STATELESS, KEYED, STATE, SKEWED, LARGE_RECORDS, CHAIN, *SUBTASKS)

_PAIR = tuple[int, int]


@pw.reducers.stateful_single  # type: ignore[untyped-decorator]
def _sum(total: Transaction | None, record: Transaction) -> Transaction:
    return record if total is None else add_amounts(total, record)


@pw.reducers.stateful_single  # type: ignore[untyped-decorator]
def _process(total: int | None, record: Transaction) -> int:
    return record[1] if total is None else total + record[1]


def _stateless() -> pw.Table:
    made = indexes().select(record=pw.apply_with_type(transaction, _PAIR, pw.this.index))
    charged = made.select(record=pw.apply_with_type(with_fee, _PAIR, pw.this.record))
    return charged.filter(pw.apply_with_type(is_large, bool, pw.this.record))


def _sums(workload: str) -> pw.Table:
    make = skewed_transaction if workload == SKEWED else transaction
    made = indexes().select(record=pw.apply_with_type(make, _PAIR, pw.this.index))
    keyed = made.select(
        customer=pw.apply_with_type(customer_of, int, pw.this.record), record=pw.this.record
    )
    reducer = _sum if workload == KEYED else _process
    return keyed.groupby(pw.this.customer).reduce(pw.this.customer, total=reducer(pw.this.record))


def _large_records() -> pw.Table:
    made = indexes().select(
        index=pw.this.index, record=pw.apply_with_type(blobs.blob, tuple[int, bytes], pw.this.index)
    )
    keyed = made.with_columns(number=pw.apply_with_type(blobs.number_of, int, pw.this.record))
    exchanged = keyed.with_id_from(pw.this.index, instance=pw.this.number)
    # Pathway 0.33 fails to plan an instance that nothing behind it reads.
    return exchanged.select(
        number=pw.this.number, size=pw.apply_with_type(blobs.size_of, int, pw.this.record)
    )


def _chain() -> pw.Table:
    stream = indexes().select(value=pw.apply_with_type(steps.number, int, pw.this.index))
    for function in steps.FUNCTIONS:
        stream = stream.select(value=pw.apply_with_type(function, int, pw.this.value))
    return stream


def build(workload: str) -> pw.Table:
    """The result of a workload."""
    if workload == STATELESS:
        return _stateless()
    if workload == LARGE_RECORDS:
        return _large_records()
    if workload == CHAIN:
        return _chain()
    return _sums(workload)


if __name__ == "__main__":
    main(MODULE, build, SETTINGS, WORKLOADS)
