import copy
import pickle

import pytest

from riverrun.serde.row import Row, RowKind


def test_a_row_gives_its_values_by_position_name_and_slice() -> None:
    row = Row(name="Alice", age=11)

    assert (row[0], row["age"], row.name, row[0:2]) == ("Alice", 11, "Alice", ["Alice", 11])
    assert list(row) == ["Alice", 11]
    assert len(row) == 2


def test_named_fields_keep_the_order_of_the_arguments() -> None:
    assert repr(Row(name="Alice", age=11)) == str(Row(name="Alice", age=11))
    assert repr(Row(name="Alice", age=11)) == "Row(name='Alice', age=11)"


def test_a_row_of_names_makes_rows_with_these_names() -> None:
    person = Row("name", "age")

    assert repr(person) == "<Row('name', 'age')>"
    assert person("Bob", 7) == Row(name="Bob", age=7)
    with pytest.raises(ValueError, match="names 2 fields, found 3 values"):
        person("Bob", 7, 8)


def test_positional_and_named_values_together_are_refused() -> None:
    with pytest.raises(ValueError, match="found both"):
        Row(1, b=2)


def test_as_dict_turns_inner_rows_only_when_it_is_recursive() -> None:
    row = Row(key=1, value=Row(name="a"), many=[Row(x=1)], by={"k": Row(y=2)})

    assert row.as_dict()["value"] == Row(name="a")
    assert row.as_dict(recursive=True) == {
        "key": 1,
        "value": {"name": "a"},
        "many": [{"x": 1}],
        "by": {"k": {"y": 2}},
    }
    with pytest.raises(TypeError, match="no field names"):
        Row(1, 2).as_dict()


def test_contains_looks_at_names_and_without_names_at_values() -> None:
    assert "name" in Row(name="Alice")
    assert "Alice" not in Row(name="Alice")
    assert "name" in Row("name", "age")


def test_fields_can_be_set_by_position_and_name_but_not_as_attributes() -> None:
    row = Row(a=1, b=2)

    row[0] = 10
    row["b"] = 20

    assert row == Row(a=10, b=20)
    with pytest.raises(ValueError, match="c"):
        row["c"] = 1
    with pytest.raises(KeyError):
        Row(1)["a"] = 2
    with pytest.raises(AttributeError):
        row.a = 3  # type: ignore[attr-defined]


def test_a_field_that_is_not_there_is_an_error_of_the_kind_pyflink_raises() -> None:
    with pytest.raises(ValueError, match="b"):
        _ = Row(a=1)["b"]
    with pytest.raises(AttributeError):
        _ = Row(a=1).b
    with pytest.raises(AttributeError):
        _ = Row(1)["a"]


def test_field_names_can_be_given_later() -> None:
    row = Row(1, 2)

    row.set_field_names(["a", "b"])

    assert row == Row(a=1, b=2)
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    with pytest.raises(ValueError, match=r"no fields \['c'\]"):
        row.get_fields_by_names(["c"])


def test_a_row_without_names_gives_all_values_for_any_names() -> None:
    assert Row(1, 2).get_fields_by_names(["x"]) == [1, 2]


def test_rows_are_equal_by_kind_names_and_values_whatever_the_order_of_names() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1, b=2) != Row(1, 2)
    assert Row(a=1) != Row(b=1)
    assert Row(1) != (1,)
    assert Row.of_kind(RowKind.DELETE, 1) != Row(1)


def test_a_row_has_a_kind_that_prints_as_flinks() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, a=1)

    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE
    assert Row(1).get_row_kind() is RowKind.INSERT
    with pytest.raises(NotImplementedError, match="no JVM"):
        row.get_row_kind().to_j_row_kind()


@pytest.mark.parametrize("row", [Row(1, "a"), Row(a=1, b=None), Row.of_kind(RowKind.DELETE, x=[1])])
def test_a_row_survives_pickle_and_copy(row: Row) -> None:
    assert pickle.loads(pickle.dumps(row)) == row
    assert copy.deepcopy(row) == row


def test_a_copy_has_values_of_its_own() -> None:
    row = Row(a=1)
    other = copy.copy(row)

    other["a"] = 2

    assert row == Row(a=1)


def test_a_pickled_row_costs_little_more_than_its_fields() -> None:
    rows = [Row(amount=i, customer=i) for i in range(1000)]

    assert len(pickle.dumps(rows, 5)) < 20 * len(rows)
