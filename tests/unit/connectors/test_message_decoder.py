"""What becomes of messages that a format refuses."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.api.serialization import DeserializationSchema
from riverrun.connectors.base.message_decoder import BadMessage, MessageDecoder
from riverrun.core.errors import ExternalError, UserCodeError


class Json(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)


MESSAGES = [b"1", b"{", b"null", b"2"]


def decoder(policy: BadRecords) -> tuple[MessageDecoder, DetachedRuntimeContext]:
    context = DetachedRuntimeContext("source")
    made = MessageDecoder(Json(), policy)
    made.open(context)
    return made, context


def origin(place: int) -> str:
    return f"place {place}"


def test_a_bad_message_fails_with_its_origin() -> None:
    with pytest.raises(BadMessage, match="place 1: cannot be read: JSONDecodeError") as caught:
        decoder(BadRecords.FAIL)[0].decode(MESSAGES, origin)

    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_bad_messages_are_left_out_and_counted() -> None:
    made, context = decoder(BadRecords.SKIP)

    assert made.decode(MESSAGES, origin) == ([1, 2], [])
    assert context.get_metrics_group().counter("numBadRecords").get_count() == 1


def test_bad_messages_become_dead_letters() -> None:
    values, letters = decoder(BadRecords.DEAD_LETTER)[0].decode(MESSAGES, origin)

    assert values == [1, 2]
    (letter,) = letters
    assert isinstance(letter, DeadLetter)
    assert (letter.origin, letter.payload) == ("place 1", b"{")
    assert letter.reason.startswith("JSONDecodeError")


def test_no_record_is_no_bad_one() -> None:
    assert decoder(BadRecords.FAIL)[0].decode([b"null", b"7"], origin) == ([7], [])


class Away(Json):
    def deserialize(self, message: bytes) -> Any:
        raise ExternalError("the registry is away")


class Shortening(Json):
    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        return list(messages[1:])


@pytest.mark.parametrize("policy", list(BadRecords))
def test_what_is_no_fault_of_the_messages_fails_whatever_the_policy(policy: BadRecords) -> None:
    with pytest.raises(ExternalError, match="the registry is away"):
        MessageDecoder(Away(), policy).decode(MESSAGES, origin)


def test_a_schema_that_loses_messages_of_a_run_is_told_so() -> None:
    with pytest.raises(UserCodeError, match="4 messages gave 3 records"):
        MessageDecoder(Shortening(), BadRecords.SKIP).decode(MESSAGES, origin)
