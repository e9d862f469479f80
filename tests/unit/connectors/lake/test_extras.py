"""Without its package a sink says what to install, when the program is made."""

from __future__ import annotations

import sys

import pytest

from riverrun.connectors.base.extras import MissingExtra
from riverrun.connectors.lake.delta import DeltaSink
from riverrun.connectors.lake.iceberg import IcebergSink
from riverrun.serde.types import Types

ROWS = Types.ROW_NAMED(["id"], [Types.LONG()])


def test_a_sink_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtra, match=r"pip install 'riverrun\[delta\]'"):
        DeltaSink("/orders", ROWS)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(MissingExtra, match=r"pip install 'riverrun\[iceberg\]'"):
        IcebergSink("shop.orders", ROWS, catalog={})
