from __future__ import annotations

import hashlib
import re
from itertools import pairwise

import pytest

from riverrun.core.errors import ProgramError
from riverrun.graph.operator_ids import id_from_uid, operator_ids
from riverrun.graph.partitioning import Rescale
from tests.unit.graph.conftest import Program, partition, side, union


def diamond(suffix: str = "", *, parallelism: int = 1, middle: int = 1) -> Program:
    program = Program(parallelism)
    source = program.source("a" + suffix)
    left = program.map("left" + suffix, source, parallelism=middle)
    right = program.map("right" + suffix, source)
    program.sink("out" + suffix, union(left, right))
    return program


def ids(program: Program) -> list[str]:
    return list(operator_ids(program.stream_graph()).values())


def test_ids_are_32_hexadecimal_characters_and_all_different() -> None:
    found = ids(diamond())

    assert len(set(found)) == 4
    assert all(re.fullmatch("[0-9a-f]{32}", operator_id) for operator_id in found)


def test_ids_do_not_change_between_releases() -> None:
    assert ids(diamond()) == [
        "393de2b027e1f15c0fefe713b3bf2fd4",
        "fda45d13e73b0c10bc2e4696709cb786",
        "45cbc496291387c993a6c4d6e0b747f1",
        "af23234b2ba0843f4d95f58b102ab971",
    ]


def test_names_parallelism_and_chaining_do_not_change_ids() -> None:
    changed = diamond("-renamed", parallelism=3, middle=2)
    for transformation in changed.transformations:
        transformation.description = "another"

    assert ids(changed) == ids(diamond())
    assert len(changed.job_graph().vertices) > len(diamond().job_graph().vertices)


def test_the_partitioning_of_an_edge_does_not_change_ids() -> None:
    plain, changed = Program(), Program()
    plain.map("m", plain.source("a"))
    changed.map("m", partition(changed.source("a"), Rescale()))

    assert ids(plain) == ids(changed)


def test_a_uid_decides_alone(program: Program) -> None:
    source = program.source("a")
    program.map("first", source)
    program.map("m", source, uid="stable")

    assert ids(program)[-1] == id_from_uid("stable") == hashlib.md5(b"stable").hexdigest()


def test_an_operator_inserted_before_changes_ids_without_uid_only(program: Program) -> None:
    shorter, longer = Program(), Program()
    stream = shorter.map("m", shorter.source("a"), uid="m")
    shorter.sink("out", stream)
    stream = longer.map("m", longer.map("new", longer.source("a")), uid="m")
    longer.sink("out", stream)

    before, after = ids(shorter), ids(longer)

    assert before[1] in after
    assert before[2] not in after


def test_a_uid_hash_is_taken_as_it_is(program: Program) -> None:
    program.source("a", uid="u", uid_hash="0123456789abcdef" * 2)

    assert ids(program) == ["0123456789abcdef" * 2]


@pytest.mark.parametrize("uid_hash", ["", "xyz", "A" * 32, "0" * 33])
def test_a_uid_hash_of_another_form_is_refused(program: Program, uid_hash: str) -> None:
    program.source("a", uid_hash=uid_hash)

    with pytest.raises(ProgramError, match=f"'Source: a': uid hash '{uid_hash}'"):
        operator_ids(program.stream_graph())


def test_a_uid_hash_that_another_operator_has_is_refused(program: Program) -> None:
    source = program.source("a", uid="u")
    program.map("m", source, uid_hash=id_from_uid("u"))

    with pytest.raises(ProgramError, match="'Source: a' and 'm': both have the operator id"):
        operator_ids(program.stream_graph())


def test_side_outputs_keep_ids_of_readers_apart(program: Program) -> None:
    source = program.source("a")
    program.map("x", side(source, "x"))
    program.map("y", side(source, "y"))

    assert len(set(ids(program))) == 3


def test_no_operator_of_a_long_program_shares_an_id(program: Program) -> None:
    streams = [program.source("a")]
    for number in range(200):
        streams.append(program.map(str(number), streams[-1]))

    found = ids(program)

    assert len(set(found)) == 201
    assert all(before != after for before, after in pairwise(found))
