"""Records of a known type as plain values, written in C and read in Python and in C alike."""

import gc
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.loops import COMPILED, pure
from tests.contract.loops.shared import EDGES, MODULES, Halves, both, plain, same

compiled = pytest.mark.skipif(not COMPILED, reason="nothing is written without a compiler")


class Price(NamedTuple):
    auction: int | None
    price: float | None
    seller: str | None
    note: bytes | None
    final: bool | None


@dataclass
class Order:
    customer: Any
    amount: Any


@dataclass(frozen=True)
class Frozen:
    customer: Any
    amount: Any


@dataclass(slots=True, frozen=True)
class Slotted:
    customer: Any
    amount: Any


class Longer(Price):
    pass


class Listed:
    __slots__ = ("kind", "names", "values")

    def __init__(self, values: Any, names: Any = None, kind: str = "new") -> None:
        self.values, self.names, self.kind = values, names, kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and _listed(self) == _listed(other)

    __hash__ = None  # type: ignore[assignment]


def _listed(record: Listed) -> tuple[Any, ...]:
    return record.values, record.names, record.kind


NAMES = ("a", "b")
FIXED = (("names", NAMES, None), ("kind", "new", "new"))


LONG = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(EDGES)
FLOAT = st.none() | st.floats(allow_nan=False)
TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
BYTES = st.none() | st.binary(max_size=300)
BOOL = st.none() | st.booleans()
FIELDS = ("customer", "amount")
SHAPES: list[tuple[Any, Any, str, st.SearchStrategy[Any]]] = [
    (None, None, "q", LONG),
    (None, None, "s", TEXT),
    (None, None, "d", FLOAT),
    (None, None, "y", BYTES),
    (None, None, "?", BOOL),
    (None, None, "b", st.integers(-128, 127)),
    (tuple, None, "", st.just(())),
    (tuple, None, "q", st.tuples(LONG)),
    (tuple, None, "sq", st.tuples(TEXT, LONG)),
    (tuple, None, "qqqq", st.tuples(LONG, LONG, LONG, LONG)),
    (tuple, None, "s(qd)", st.tuples(TEXT, st.none() | st.tuples(LONG, FLOAT))),
    (
        tuple,
        None,
        "((qqqq)())s",
        st.tuples(st.tuples(st.tuples(LONG, LONG, LONG, LONG), st.just(())), TEXT),
    ),
    (Price, None, "qdsy?", st.builds(Price, LONG, FLOAT, TEXT, BYTES, BOOL)),
    (Price, None, "q(dp)pp?", st.builds(Price, LONG, st.tuples(FLOAT, plain), plain, plain, BOOL)),
    (Order, FIELDS, "pp", st.builds(Order, plain, plain)),
    (tuple, None, "pq", st.tuples(plain, LONG)),
    (Order, FIELDS, "sq", st.builds(Order, TEXT, LONG)),
    (Frozen, FIELDS, "sq", st.builds(Frozen, TEXT, LONG)),
    (Slotted, FIELDS, "sq", st.builds(Slotted, TEXT, LONG)),
]


def _alike(found: list[Any], expected: list[Any]) -> bool:
    """Equal, of the same classes, with the same signs of zero."""
    plain = [list(map(_parts, values)) for values in (found, expected)]
    return same(*plain) and list(map(type, found)) == list(map(type, expected))


def _parts(value: Any) -> Any:
    if isinstance(value, Listed):
        return _listed(value)
    if isinstance(value, Order | Frozen | Slotted):
        return value.customer, value.amount
    return tuple(value) if isinstance(value, tuple) else value


_LISTS = st.tuples(LONG, TEXT).map(list)


@compiled
@given(st.lists(st.builds(Listed, _LISTS, st.sampled_from([None, NAMES])), max_size=8))
def test_records_that_are_a_list_with_names_get_the_names(values: list[Listed]) -> None:
    shape = Listed, None, "qs", "values", FIXED
    for module in both():
        written = module.encode_shaped(values, module.Shape(*shape))
        if written is None:
            assert module is pure
            continue
        for reader in both():
            found = reader.decode_shaped(written, reader.Shape(*shape))
            assert found == [Listed(value.values, NAMES) for value in values]


@compiled
@pytest.mark.parametrize(
    "value",
    [
        Listed([1, "a"], ("b", "a")),
        Listed([1, "a"], NAMES, "gone"),
        Listed((1, "a")),
        Listed([1]),
        Listed([1, "a", 2]),
        Listed(["a", 1]),
        Listed.__new__(Listed),
        None,
    ],
)
def test_a_record_with_another_list_or_other_attributes_is_left(
    module: ModuleType, value: Any
) -> None:
    shape = module.Shape(Listed, None, "qs", "values", FIXED)

    assert module.encode_shaped([Listed([1, "a"]), value], shape) is None


def _encoded(module: ModuleType, values: list[Any], shape: tuple[Any, Any, str]) -> bytes | None:
    data: bytes | None = module.encode_shaped(values, module.Shape(*shape))
    return data


@compiled
@given(st.data(), st.sampled_from(SHAPES))
def test_what_is_written_is_read_by_both(data: st.DataObject, shape: tuple[Any, ...]) -> None:
    *parts, strategy = shape
    values = data.draw(st.lists(strategy, max_size=20))

    for module in both():
        written = _encoded(module, values, (*parts,))
        if module is pure:
            assert written is None
            continue
        assert written is not None
        assert written[0] == 2
        assert len(pickle.loads(memoryview(written)[1:])) == len(values)
        for reader in both():
            for given_as in (written, memoryview(bytearray(written))):
                found = reader.decode_shaped(given_as, reader.Shape(*parts))
                assert _alike(found, values)


REFUSED: list[tuple[Any, Any, str, Any]] = [
    (None, None, "q", True),
    (None, None, "q", 2**63),
    (None, None, "i", 2**31),
    (None, None, "i", -(2**31) - 1),
    (None, None, "h", 2**15),
    (None, None, "b", 128),
    (None, None, "b", -129),
    (None, None, "d", 1),
    (None, None, "s", "\ud800"),
    (None, None, "s", b""),
    (None, None, "y", bytearray()),
    (None, None, "?", 1),
    (None, None, "q", "1"),
    (tuple, None, "qq", None),
    (tuple, None, "qq", (1,)),
    (tuple, None, "qq", (1, 2, 3)),
    (tuple, None, "qq", [1, 2]),
    (tuple, None, "qqqqq", (1, 2, 3, 4)),
    (tuple, None, "q(qq)", (1, (2,))),
    (tuple, None, "q(qq)", (1, (2, 3, 4))),
    (tuple, None, "q(qq)", (1, 2)),
    (tuple, None, "q(qq)q", (1, (2, 3))),
    (tuple, None, "qdsy?", Price(1, 1.0, "", b"", True)),
    (Price, None, "qdsy?", Longer(1, 1.0, "", b"", True)),
    (Price, None, "qdsy?", (1, 1.0, "", b"", True)),
    (Price, None, "qdsy?", Price(1, 1, "", b"", True)),
    (Order, FIELDS, "sq", Frozen("a", 1)),
    (Order, FIELDS, "sq", Order(1, "a")),
    (Order, FIELDS, "pp", Order([1], 2)),
    (Order, FIELDS, "pp", Order((1, Price(1, 1.0, "", b"", True)), 2)),
    (tuple, None, "p", (2**63,)),
]


@compiled
@pytest.mark.parametrize("refused", REFUSED, ids=repr)
def test_a_record_of_another_shape_is_left(module: ModuleType, refused: tuple[Any, ...]) -> None:
    *parts, value = refused

    assert _encoded(module, [value], (*parts,)) is None


@compiled
def test_an_attribute_that_is_gone_is_left(module: ModuleType) -> None:
    order = Order("a", 1)
    del order.amount

    assert _encoded(module, [Order("b", 2), order], (Order, FIELDS, "sq")) is None


@compiled
@pytest.mark.parametrize(
    "parts",
    [
        (None, None, "qq"),
        (None, None, ""),
        (None, None, "()"),
        (None, ("a",), "q"),
        (tuple, None, "x"),
        (tuple, None, "(q"),
        (tuple, None, "q)"),
        (tuple, None, ")("),
        (tuple, None, "(" * 15 + ")" * 15),
        (tuple, ("a",), "q"),
        (Order, None, "q"),
        (Order, ("a",), "qq"),
        ("Order", None, "q"),
        (Order, ["customer"], "q"),
        (None, None, "q", "values"),
        (tuple, None, "q", "values"),
        (Listed, ("a",), "q", "values"),
        (Listed, None, "q", 1),
        (Listed, None, "q", "values", [("a", 1, 1)]),
        (Listed, None, "q", "values", (("a", 1),)),
        (Listed, None, "q", "values", ("abc",)),
    ],
)
def test_what_is_no_shape_is_refused(parts: tuple[Any, ...]) -> None:
    for module in both():
        if module is pure:
            continue
        with pytest.raises(ValueError, match="no shape"):
            module.Shape(*parts)


@pytest.fixture
def _no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@compiled
@pytest.mark.usefixtures("_no_collection")
def test_no_reference_is_lost_or_kept() -> None:
    text = repr(Price)
    before = sys.getrefcount(text), sys.getrefcount(Price), sys.getrefcount(Order)
    for module in both():
        shape = module.Shape(Price, None, "qdsy?")
        by_name = module.Shape(Order, FIELDS, "sq")
        listed = module.Shape(Listed, None, "qs", "values", FIXED)
        for _ in range(50):
            prices = [Price(1, 1.0, text, b"", True)] * 3
            written = module.encode_shaped(prices, shape)
            module.encode_shaped([*prices, None], shape)
            if written is not None:
                module.decode_shaped(written, shape)
                assert module.decode_shaped(written[:-3], shape) is None
            orders = [Order(text, 1)] * 3
            written = module.encode_shaped(orders, by_name)
            if written is not None:
                module.decode_shaped(written, by_name)
            records = [Listed([1, text])] * 3
            written = module.encode_shaped(records, listed)
            module.encode_shaped([*records, Listed([text, 1])], listed)
            if written is not None:
                module.decode_shaped(written, listed)
        del prices, orders, records, shape, by_name, listed
    assert (sys.getrefcount(text), sys.getrefcount(Price), sys.getrefcount(Order)) == before


@compiled
@given(st.data())
def test_bytes_that_are_something_else_do_no_harm(data: st.DataObject) -> None:
    prices = [Price(7, 0.5, "seven", b"7", True), Price(None, None, None, None, None)]
    for module in both():
        if module is pure:
            continue
        shape = module.Shape(Price, None, "qdsy?")
        written = bytearray(module.encode_shaped(prices, shape))
        for _ in range(data.draw(st.integers(1, 4))):
            written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(written)))
        found: Any = None
        with suppress(UnicodeDecodeError):
            found = module.decode_shaped(bytes(written[:cut]), shape)
        assert found is None or all(type(price) is Price for price in found)


@compiled
@pytest.mark.parametrize("name", [name for name in MODULES if name != "pure"])
def test_a_writer_writes_records_of_its_shape_only(name: str) -> None:
    (module,) = (each for each in both() if each.__name__.endswith(name))
    shape = module.Shape(Price, None, "qdsy?")
    writers = tuple(module.Writer(shape) for _ in range(2))
    prices = [Price(n, n / 2, "x", b"y", n % 3 == 0) for n in range(5)]
    values = [*prices, Longer(5, 1.0, "", b"", True), prices[0]]

    written = module.share_written(
        writers, Halves(), list(range(7)), values, [10 * n for n in range(7)], None
    )

    assert written == 5
    for half, writer in enumerate(writers):
        run, times = writer.take()
        for reader in both():
            assert reader.decode_shaped(run, reader.Shape(Price, None, "qdsy?")) == prices[half::2]
        assert list(memoryview(times).cast("q")) == [10 * n for n in range(half, 5, 2)]
    with pytest.raises(TypeError, match="a writer takes a shape or None"):
        module.Writer(pure.Shape(None, None, "q"))
    with pytest.raises(TypeError, match="encode_shaped takes a shape"):
        module.encode_shaped([], None)


@compiled
def test_records_that_are_read_stay_out_of_the_collectors_way(module: ModuleType) -> None:
    values = [Price(1, 2.0, "a", b"", None)]
    for writer in both():
        written = _encoded(writer, values, (Price, None, "qdsy?"))
        if written is not None:
            (found,) = module.decode_shaped(written, module.Shape(Price, None, "qdsy?"))
            assert module is pure or not gc.is_tracked(found)
            assert found == values[0]
