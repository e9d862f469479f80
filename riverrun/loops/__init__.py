"""The loops that most jobs spend their time in, compiled where that was possible.

`riverrun.loops.pure` has them in Python and says what each does. ``_compiled`` is the same in C: it is built
when riverrun is installed where there is a C compiler, and nothing is missing without it but speed. ``RIVERRUN_PURE=1``
in the environment leaves it alone.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from riverrun.loops import pure

if TYPE_CHECKING:
    from types import ModuleType

    from riverrun.loops.pure import (
        Entries,
        KeyHolder,
        Moment,
        PairTimes,
        Shape,
        Writer,
        all_plain,
        decode,
        decode_shaped,
        encode,
        encode_shaped,
        extent,
        fold,
        fold_new,
        gather,
        gather_timed,
        hold,
        items,
        meet,
        same_keys,
        share,
        share_written,
        words,
    )

__all__ = [
    "COMPILED",
    "Entries",
    "KeyHolder",
    "Moment",
    "PairTimes",
    "Shape",
    "Writer",
    "all_plain",
    "at_record",
    "decode",
    "decode_shaped",
    "encode",
    "encode_shaped",
    "extent",
    "fold",
    "fold_new",
    "gather",
    "gather_timed",
    "hold",
    "items",
    "meet",
    "same_keys",
    "share",
    "share_written",
    "words",
]


def at_record(error: BaseException, value: Any) -> NoReturn:  # noqa: ARG001  (read from this frame's locals)
    """Raise ``error`` again from a frame that has the record in hand, as loops in Python have."""
    try:
        raise error
    finally:
        del error  # the error has this frame, so the frame must not have the error


def _compiled() -> ModuleType | None:
    if os.environ.get("RIVERRUN_PURE"):
        return None
    try:
        module = import_module("riverrun.loops._compiled")
    except ImportError:
        return None
    module.use_at_record(at_record)
    return module


_chosen: Final = _compiled()
COMPILED: Final = _chosen is not None
"""Whether the loops run in C."""

if not TYPE_CHECKING:
    for _name in pure.__all__:
        setattr(sys.modules[__name__], _name, getattr(_chosen or pure, _name))
