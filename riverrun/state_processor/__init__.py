"""Read, change and write the state in savepoints and checkpoints, without running a job."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from riverrun.state_processor.bootstrap import (
        BootstrapTransformation,
        OperatorTransformation,
    )
    from riverrun.state_processor.bootstrap_functions import (
        BroadcastStateBootstrapFunction,
        KeyedStateBootstrapFunction,
        StateBootstrapFunction,
    )
    from riverrun.state_processor.comparison import Change, Verb
    from riverrun.state_processor.difference import StateDifference, differences
    from riverrun.state_processor.exporting import export
    from riverrun.state_processor.facts import OperatorFacts, SavepointFacts, StateFacts
    from riverrun.state_processor.kinds import TableKind
    from riverrun.state_processor.reader import SavepointReader, WindowState
    from riverrun.state_processor.reader_functions import KeyedStateReaderFunction
    from riverrun.state_processor.savepoint import Savepoint
    from riverrun.state_processor.table import StateTable
    from riverrun.state_processor.writer import SavepointWriter
    from riverrun.state_processor.writing.entries import StateRow

__all__ = [
    "BootstrapTransformation",
    "BroadcastStateBootstrapFunction",
    "Change",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorFacts",
    "OperatorTransformation",
    "Savepoint",
    "SavepointFacts",
    "SavepointReader",
    "SavepointWriter",
    "StateBootstrapFunction",
    "StateDifference",
    "StateFacts",
    "StateRow",
    "StateTable",
    "TableKind",
    "Verb",
    "WindowState",
    "differences",
    "export",
]

_HOMES: Final[Mapping[str, str]] = {
    "BootstrapTransformation": "bootstrap",
    "BroadcastStateBootstrapFunction": "bootstrap_functions",
    "Change": "comparison",
    "KeyedStateBootstrapFunction": "bootstrap_functions",
    "KeyedStateReaderFunction": "reader_functions",
    "OperatorFacts": "facts",
    "OperatorTransformation": "bootstrap",
    "Savepoint": "savepoint",
    "SavepointFacts": "facts",
    "SavepointReader": "reader",
    "SavepointWriter": "writer",
    "StateBootstrapFunction": "bootstrap_functions",
    "StateDifference": "difference",
    "StateFacts": "facts",
    "StateRow": "writing.entries",
    "StateTable": "table",
    "TableKind": "kinds",
    "Verb": "comparison",
    "WindowState": "reader",
    "differences": "difference",
    "export": "exporting",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
