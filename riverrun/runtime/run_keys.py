"""The keys of a run: what the user's selector gives for each record.

Most selectors only look something up: ``record[0]``, ``record["user"]``, ``record.user``, or a tuple of such.
A call to them costs more than what they do, so that such a selector is replaced by the getter of the
``operator`` module that does the same without a call. Whatever else a selector is, it is called.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from operator import attrgetter, itemgetter
from types import FunctionType, MethodType
from typing import Any, Final, TypeAlias

from riverrun.api.functions import KeySelector
from riverrun.api.resolve import key_callable
from riverrun.loops import items

KeysOf: TypeAlias = Callable[[list[Any]], list[Any]]

_RECORD: Final = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW"})
_CONSTANT: Final = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_NOTHING: Final = frozenset({"RESUME", "CACHE", "NOP"})


def run_keys(selector: KeySelector | Callable[[Any], Any]) -> KeysOf:
    """What gives the keys of a run of records."""
    key_of = key_callable(selector)
    look_up = run_lookup(key_of)
    if look_up is None:
        return lambda values: [key_of(value) for value in values]

    def keys_of(values: list[Any]) -> list[Any]:
        try:
            return look_up(values)
        except Exception:  # noqa: BLE001  (the selector fails at the same record, in the user's own frame)
            return [key_of(value) for value in values]

    return keys_of


def run_lookup(function: Callable[..., Any]) -> KeysOf | None:
    """What gives for a run what ``function`` gives for each record, if all it does is to look something up.

    Whatever else ``function`` takes after the record does not matter then.
    """
    getter = getter_like(function)
    if getter is None:
        return None
    index = _index_of(getter)

    def look_up(values: list[Any]) -> list[Any]:
        if index is not None and (found := items(values, index)) is not None:
            return found
        return list(map(getter, values))

    return look_up


def getter_like(function: Callable[..., Any]) -> Callable[[Any], Any] | None:
    """The getter that gives what ``function`` gives, if all it does is to look something up.

    >>> getter_like(lambda record: record[0])
    operator.itemgetter(0)
    >>> getter_like(lambda record: (record.user, record.page))
    operator.attrgetter('user', 'page')
    >>> getter_like(lambda record: record[0] + 1)
    """
    if isinstance(function, itemgetter | attrgetter):
        return function
    if sys.gettrace() is not None:  # somebody steps through the program and wants to see its calls
        return None
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType):
        return None
    code = plain.__code__
    place = 1 if isinstance(function, MethodType) else 0
    if code.co_argcount <= place:
        return None
    record = code.co_varnames[place]
    steps = [step for step in dis.get_instructions(code) if not _does_nothing(step, record)]
    return _getter(steps, record)


def _does_nothing(step: dis.Instruction, record: str) -> bool:
    """Whether a step has no effect on what is looked up, as ``del`` of another argument has not."""
    return step.opname in _NOTHING or (step.opname == "DELETE_FAST" and step.argval != record)


def _index_of(getter: Callable[[Any], Any]) -> int | None:
    """Which item a getter gets, if it is one item by its number."""
    if isinstance(getter, itemgetter):
        what: Any = getter.__reduce__()[1]
        if len(what) == 1 and type(what[0]) is int:
            return what[0]
    return None


def _getter(steps: list[dis.Instruction], record: str) -> Callable[[Any], Any] | None:
    if not steps or steps[-1].opname != "RETURN_VALUE":
        return None
    body = steps[:-1]
    count = 1
    if body and body[-1].opname == "BUILD_TUPLE":
        count = int(body.pop().argval)
        if count == 1:  # a getter of one thing gives the thing, not a tuple
            return None
    looks = list(_looks(body, record))
    kinds = {kind for kind, _ in looks}
    if len(looks) != count or len(kinds) != 1 or None in kinds:
        return None
    (kind,) = kinds
    what = [name for _, name in looks]
    return itemgetter(*what) if kind == "item" else attrgetter(*what)


def _looks(body: list[dis.Instruction], record: str) -> Iterator[tuple[str | None, Any]]:
    """Each thing looked up in the record; ``None`` for its kind where something else is done."""
    rest = iter(body)
    for load in rest:
        step = next(rest, None)
        if load.opname not in _RECORD or load.argval != record or step is None:
            yield None, None
        elif step.opname == "LOAD_ATTR" and "." not in step.argval:
            yield "attribute", step.argval
        elif step.opname in _CONSTANT and _subscripts(next(rest, None)):
            yield "item", step.argval
        else:
            yield None, None


def _subscripts(step: dis.Instruction | None) -> bool:
    return step is not None and (
        step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")
    )
