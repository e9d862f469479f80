from __future__ import annotations

import pickle
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core.ids import JobId
from riverrun.jobmanager.job_output import JobOutput, NotPlain, plain_value

JOB = JobId("ab" * 16)

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


class Bad:
    """Would run something when it is opened."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was opened",)


@given(value=PLAIN)
def test_plain_values_are_opened(value: Any) -> None:
    assert plain_value(pickle.dumps(value)) == value


@pytest.mark.parametrize("value", [Bad(), [Decimal(1)], Path("/"), print])
def test_nothing_else_is_opened(value: Any) -> None:
    with pytest.raises(NotPlain, match="expected plain ones"):
        plain_value(pickle.dumps(value))


@given(data=st.binary(max_size=200))
def test_any_bytes_give_a_value_or_an_error(data: bytes) -> None:
    with suppress(NotPlain):
        plain_value(data)


def test_lines_are_kept_and_what_is_for_the_client_alone_is_dropped_with_one_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = JobOutput(JOB, tmp_path / "logs", ["print"])

    output.write("print", 0, pickle.dumps(["a", "ü"]))
    output.write("collect", 0, pickle.dumps([1]))
    output.write("collect", 0, pickle.dumps([2]))
    output.write("print", 0, pickle.dumps(["b"]))

    assert output.path.read_text("utf-8") == "a\nü\nb\n"
    assert [each.message.split(" job=")[0] for each in caplog.records] == [
        "values for the client are dropped, it is gone"
    ]


def test_a_job_does_not_fail_because_its_lines_cannot_be_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs").write_text("no folder")
    output = JobOutput(JOB, tmp_path / "logs", ["print"])

    output.write("print", 3, pickle.dumps(["a"]))
    output.write("print", 3, pickle.dumps([Bad()]))

    assert "printed lines of subtask 3 are lost" in caplog.text
