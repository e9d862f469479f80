"""What becomes of several rows with one key: the values of a list, the entries of a map, or a mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from riverrun.core.short_repr import short_repr
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.state.parquet.columns import Rows
from riverrun.state.schema import MAPS
from riverrun.state_processor.writing.entries import Named, selected, value_column
from riverrun.state_processor.writing.refusals import DuplicateKey

Merge: TypeAlias = Callable[[Any, Any], Any]
"""Makes one value (or list, or dict) of two."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The rule for rows that have the same key and namespace, and do not belong together."""

    merge: Merge | None = None
    """What makes one of two."""
    advice: str = "aggregate the data by key first"
    """What to do where there is nothing that does so."""


class Meetings:
    """Takes sorted rows and gives them with every key once; used once, from one thread."""

    def __init__(self, named: Named, meta: StateMeta, rule: Meeting, *, parts: bool) -> None:
        """``parts``: rows of one key belong together."""
        self._named = named
        self._meta = meta
        self._rule = rule
        self._parts = parts
        self._rows: Rows = {}
        """Those of the last rank: more of them may come."""
        self._ranks: list[int] = []
        self._numbers: list[int] = []

    def add(
        self, rows: Rows, ranks: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int64]
    ) -> Rows | None:
        """The rows that are complete now, if there are any.

        Raises:
            DuplicateKey: two rows have a key that only one can have.
        """
        borders = np.flatnonzero(np.diff(ranks))
        cut = 0 if not len(borders) else int(borders[-1]) + 1
        if not self._ranks or self._ranks[-1] == int(ranks[0]):
            self._append(rows, ranks.tolist(), numbers.tolist())
            cut += len(self._ranks) - len(ranks) if cut else 0
            return self._complete(cut) if cut else None
        before = self._complete(len(self._ranks))
        self._append(rows, ranks.tolist(), numbers.tolist())
        if not cut:
            return before
        after = self._complete(cut)
        return {name: column + after[name] for name, column in before.items()}

    def finish(self) -> Rows | None:
        """The rows that waited."""
        return self._complete(len(self._ranks)) if self._ranks else None

    def _append(self, rows: Rows, ranks: list[int], numbers: list[int]) -> None:
        if not self._ranks:
            self._rows, self._ranks, self._numbers = dict(rows), ranks, numbers
            return
        for name, column in rows.items():
            self._rows[name] += column
        self._ranks += ranks
        self._numbers += numbers

    def _complete(self, cut: int) -> Rows:
        """Take the first rows; those of one key are among them all or not at all."""
        ranks, numbers = self._ranks[:cut], self._numbers[:cut]
        rows = {name: column[:cut] for name, column in self._rows.items()}
        self._ranks, self._numbers = self._ranks[cut:], self._numbers[cut:]
        self._rows = {name: column[cut:] for name, column in self._rows.items()}
        if len(set(ranks)) == cut:
            return rows
        out: Rows = {name: [] for name in rows}
        start = 0
        for end in [*(place for place in range(1, cut) if ranks[place] != ranks[place - 1]), cut]:
            span = {name: column[start:end] for name, column in rows.items()}
            for settled in self._settle(span, numbers[start:end]):
                for name, column in settled.items():
                    out[name] += column
            start = end
        return out

    def _settle(self, rows: Rows, numbers: list[int]) -> Iterator[Rows]:
        """Rows of one rank: nearly always those of one key."""
        parts = [rows[name] for name in ("key", "namespace", "time") if name in rows]
        by_address: dict[Any, list[int]] = {}
        for place, address in enumerate(zip(*parts, strict=True)):
            by_address.setdefault(address, []).append(place)
        for places in by_address.values():
            one = rows if len(by_address) == 1 else selected(rows, places)
            yield self._one(one, [numbers[place] for place in places])

    def _one(self, rows: Rows, numbers: list[int]) -> Rows:
        """Rows of one key and namespace."""
        kind = self._meta.kind
        if kind is StateKind.TIMERS:
            return selected(rows, [0])
        if kind in MAPS and (self._parts or numbers[0] == numbers[-1]):
            self._check_map_keys(rows, numbers)
            return rows
        if len(numbers) == 1:
            return rows
        if self._parts:
            return self._joined(rows)
        if self._rule.merge is None:
            raise self._duplicate(rows["key"][0], (numbers[0], numbers[-1]))
        return self._merged(rows, numbers, self._rule.merge)

    def _check_map_keys(self, rows: Rows, numbers: list[int]) -> None:
        if len(set(rows["map_key"])) == len(numbers):
            return
        first: dict[Any, int] = {}
        for map_key, number in zip(rows["map_key"], numbers, strict=True):
            if map_key in first:
                shown = f"{short_repr(rows['key'][0])} and the map key {short_repr(map_key)}"
                raise DuplicateKey(
                    self._named.operator,
                    self._named.state,
                    shown,
                    (first[map_key], number),
                    self._rule.advice,
                )
            first[map_key] = number

    def _joined(self, rows: Rows) -> Rows:
        out = selected(rows, [0])
        for name in ("elements", "last_used"):
            if name in rows:
                out[name] = [[each for part in rows[name] for each in part]]
        return out

    def _merged(self, rows: Rows, numbers: list[int], merge: Merge) -> Rows:
        used = rows.get("last_used")
        if self._meta.kind in MAPS:
            maps: dict[int, dict[Any, Any]] = {}
            for number, key, value in zip(numbers, rows["map_key"], rows["map_value"], strict=True):
                maps.setdefault(number, {})[key] = value
            made = reduce(merge, maps.values())
            out = {name: column[:1] * len(made) for name, column in rows.items()}
            out["map_key"], out["map_value"] = list(made), list(made.values())
            if used is not None:
                out["last_used"] = [max(used)] * len(made)
            return out
        name = value_column(self._meta)
        out = selected(rows, [0])
        out[name] = [reduce(merge, rows[name])]
        if used is not None:
            is_list = self._meta.kind is StateKind.LIST
            last = max(map(max, used)) if is_list else max(used)
            out["last_used"] = [[last] * len(out[name][0])] if is_list else [last]
        return out

    def _duplicate(self, key: Any, rows: tuple[int, int]) -> DuplicateKey:
        named = self._named
        return DuplicateKey(named.operator, named.state, short_repr(key), rows, self._rule.advice)
