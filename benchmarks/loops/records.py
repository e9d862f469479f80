"""``large`` and ``chain`` in a bare loop: functions one after the other, nothing kept and nothing exchanged."""

from benchmarks.blobs import blob, number_of, size_of
from benchmarks.steps import FUNCTIONS, number


def large(indexes: range) -> int:
    """Make each record, take its key and its size; the size of all."""
    size = 0
    for index in indexes:
        record = blob(index)
        number_of(record)
        size += size_of(record)
    return size


def chain(indexes: range) -> int:
    """Take each number through all functions; the sum of what they become."""
    total = 0
    for index in indexes:
        value = number(index)
        for function in FUNCTIONS:
            value = function(value)
        total += value
    return total
