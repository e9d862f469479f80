"""What the tests of the loops share: both modules, plain values, and dicts of owners."""

import importlib
import math
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from riverrun import loops
from riverrun.api.output_tag import OutputTag
from riverrun.serde.stable_hash import key_group

MODULES = ["pure", *(["_compiled"] if loops.COMPILED else [])]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=300)
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=5).map(tuple),
    max_leaves=8,
)
EDGES = [
    sign * (2**bits + more)
    for bits in (0, 7, 8, 15, 16, 31, 32, 39, 40, 47, 55, 62)
    for more in (-1, 0, 1)
    for sign in (1, -1)
]


def both() -> list[ModuleType]:
    return [importlib.import_module(f"riverrun.loops.{name}") for name in MODULES]


def same(one: Any, other: Any) -> bool:
    """Equal, of the same types, with the same signs of zero."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return bool(math.copysign(1, one) == math.copysign(1, other) and one == other)
    if isinstance(one, OutputTag):
        return bool(one.tag_id == other.tag_id)
    return bool(one == other)


class Halves(dict[Any, int]):
    def __missing__(self, key: Any) -> int:
        if key == "bad":
            raise KeyError(key)
        owner: int = key % 2
        self[key] = owner
        return owner


class Groups(dict[Any, int]):
    def __init__(self, groups: int) -> None:
        super().__init__()
        self._groups = groups

    def __missing__(self, key: Any) -> int:
        return key_group(key, self._groups)
