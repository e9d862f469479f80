"""Ready-made answers to "does this outcome deserve another try?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: Sequence[Any] | None) -> bool:
    """Whether a call gave nothing.

    >>> empty_result_predicate([]), empty_result_predicate([1])
    (True, False)
    """
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Whether a call failed, however it did."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None,
    expected_error_type: type[BaseException] | tuple[type[BaseException], ...],
) -> bool:
    """Whether a call failed in this way; bind the type with ``functools.partial``.

    >>> exception_type_predicate(KeyError("x"), LookupError)
    True
    """
    return isinstance(error, expected_error_type)
