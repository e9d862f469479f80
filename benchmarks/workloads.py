"""The logic that every measured system runs: plain functions, standard library only.

Each peer imports this module with its own interpreter, so nothing here may import riverrun. The
records are card transactions ``(customer, amount)``, made from their index with cheap arithmetic,
so that the limit of a system is as little of our own making as possible.

The workloads:

* ``stateless``: generator, ``with_fee``, ``is_large``, discard.
* ``keyed``: generator, key by ``customer_of``, running sum by ``add_amounts``, discard each update.
* ``state``: generator, key by ``customer_of``, a running sum that a process function of the user's
  keeps in a value state (one read and one write a record), discard each update.
* ``skewed``: as ``state``, but half of the records are one customer's (``skewed_transaction``).
* ``subtasks-1`` to ``subtasks-8``: as ``state``, with so many subtasks of each operator.
* ``windows`` and ``sliding``: payments with times, sums per customer in windows of event time by a Python
  function; ``columns``: sum, count, least and most per customer in tumbling windows, declared on
  columns where a system has that. See ``benchmarks.payments``.
* ``sessions``: clicks of each visitor's sessions; see ``benchmarks.visits``.
* ``join``: orders with the shipments that follow them; see ``benchmarks.orders``.
* ``large``: records of a megabyte through one exchange; see ``benchmarks.blobs``.
* ``chain``: a hundred functions one after the other; see ``benchmarks.steps``.
* ``q0`` to ``q8``, ``q11``, ``q12``: Nexmark's queries; see ``benchmarks.nexmark``.
"""

from typing import Final, TypeAlias

Transaction: TypeAlias = tuple[int, int]

STATELESS: Final = "stateless"
KEYED: Final = "keyed"
STATE: Final = "state"
SKEWED: Final = "skewed"
WINDOWS: Final = "windows"
SLIDING: Final = "sliding"
SESSIONS: Final = "sessions"
JOIN: Final = "join"
COLUMNS: Final = "columns"
LARGE_RECORDS: Final = "large"
CHAIN: Final = "chain"
SUBTASKS: Final = {f"subtasks-{count}": count for count in (1, 2, 4, 8)}
"""The workloads that differ in their parallelism only, and that parallelism."""
NEXMARK: Final = ("q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q11", "q12")
WORKLOADS: Final = (
    STATELESS,
    KEYED,
    STATE,
    SKEWED,
    WINDOWS,
    SLIDING,
    SESSIONS,
    JOIN,
    COLUMNS,
    LARGE_RECORDS,
    CHAIN,
    *SUBTASKS,
    *NEXMARK,
)
"""What ``benchmarks.run`` measures, in this order."""

CUSTOMERS: Final = 10_000
LARGE: Final = 20_000


def transaction(index: int) -> Transaction:
    """The card transaction number ``index``: customer and amount in cents.

    >>> transaction(1)
    (5761, 40503)
    """
    mixed = index * 2_654_435_761 & 0xFFFFFFFF
    return mixed % 10_000, (mixed >> 16) % 50_000


def skewed_transaction(index: int) -> Transaction:
    """The same, but every second one is customer 0's.

    >>> skewed_transaction(0), skewed_transaction(1)
    ((0, 0), (5761, 40503))
    """
    customer, amount = transaction(index)
    return (customer if index & 1 else 0), amount


def with_fee(record: Transaction) -> Transaction:
    """The same transaction with one per cent added to its amount.

    >>> with_fee((7, 20_000))
    (7, 20200)
    """
    customer, amount = record
    return customer, amount + amount // 100


def is_large(record: Transaction) -> bool:
    """Whether the amount reaches the threshold; true for three records in five."""
    return record[1] >= LARGE


def customer_of(record: Transaction) -> int:
    """The key of the keyed workload."""
    return record[0]


def add_amounts(total: Transaction, record: Transaction) -> Transaction:
    """The customer's running sum after one more transaction.

    >>> add_amounts((7, 100), (7, 20))
    (7, 120)
    """
    return total[0], total[1] + record[1]


def share(records: int, part: int, parts: int) -> range:
    """The indexes that worker ``part`` of ``parts`` makes; together they cover all records once.

    >>> [share(5, part, 2) for part in range(2)]
    [range(0, 2), range(2, 5)]
    """
    return range(records * part // parts, records * (part + 1) // parts)
