"""From the text of a key on the command line to the key."""

from __future__ import annotations

from riverrun.state_processor.key_text import key_candidates
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.table import StateTable


def rows_of_key(table: StateTable, written: str) -> StateTable:
    """The rows of the key that ``written`` means.

    Where the type of keys is not declared, the text itself is looked for first, and then what Python takes it
    for: ``42``, ``('a', 1)``.

    Raises:
        NotInSavepoint: there is no such key.
    """
    for key in key_candidates(table.types.get("key"), written):
        found = table.where_key(key)
        if next(found.rows(), None) is not None:
            return found
    place = f"state {table.name!r} of operator {table.operator!r}"
    raise NotInSavepoint(place, "key", written, ())
