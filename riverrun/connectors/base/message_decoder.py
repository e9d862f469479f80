"""Messages to records, with what becomes of those that are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.serialization import DeserializationSchema
from riverrun.core.errors import ExternalError, UserCodeError
from riverrun.metrics.metric import Counter


class BadMessage(UserCodeError):  # noqa: N818  (named after what it is)
    """A message that its format refuses, in a source that fails on such."""

    def __init__(self, origin: str, reason: str) -> None:
        super().__init__(origin, reason)
        self.origin, self.reason = origin, reason

    def __str__(self) -> str:
        return (
            f"{self.origin}: cannot be read: {self.reason}; mend the message or the format, or set "
            f"the source's bad records to BadRecords.SKIP or BadRecords.DEAD_LETTER"
        )


class MessageDecoder:
    """Decodes runs of messages with a schema, under one policy for bad ones."""

    def __init__(self, schema: DeserializationSchema, policy: BadRecords) -> None:
        self._schema = schema
        self._policy = policy
        self._skipped: Counter | None = None

    def open(self, context: RuntimeContext) -> None:
        """Prepare the schema, and count bad records from now on."""
        self._schema.open()
        self._skipped = context.get_metrics_group().counter("numBadRecords")

    def decode(
        self, messages: Sequence[bytes], origin: Callable[[int], str]
    ) -> tuple[list[Any], list[DeadLetter]]:
        """The records of ``messages``, and the messages that are none.

        ``origin(i)`` says where message ``i`` of the run comes from.

        Raises:
            BadMessage: one is bad, and the policy is to fail.
            ExternalError: something that the schema needs has failed, whatever the policy.
        """
        try:
            found = self._schema.deserialize_run(messages)
        except ExternalError:
            raise  # what a schema asks, such as a registry, is away: that is no fault of the messages
        except Exception:  # noqa: BLE001  (one of them is bad; which one is found out below)
            return self._one_by_one(messages, origin)
        if len(found) != len(messages):
            raise UserCodeError(
                f"{type(self._schema).__name__}: its run of {len(messages)} messages gave {len(found)} "
                f"records; expected one for each, None where there is none"
            )
        return [each for each in found if each is not None], []

    def _one_by_one(
        self, messages: Sequence[bytes], origin: Callable[[int], str]
    ) -> tuple[list[Any], list[DeadLetter]]:
        values: list[Any] = []
        letters: list[DeadLetter] = []
        for place, message in enumerate(messages):
            try:
                value = self._schema.deserialize(message)
            except ExternalError:
                raise
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                if self._policy is BadRecords.FAIL:
                    raise BadMessage(origin(place), reason) from error
                if self._skipped is not None:
                    self._skipped.inc()
                if self._policy is BadRecords.DEAD_LETTER:
                    letters.append(DeadLetter(origin(place), reason, message))
                continue
            if value is not None:
                values.append(value)
        return values, letters
