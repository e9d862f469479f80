"""PyFlink's list of names, and what is said about a name that cannot be given."""

import doctest
import importlib

import pytest

from riverrun.compat.pyflink import names
from riverrun.compat.pyflink.modules import target_of
from riverrun.compat.pyflink.names import defining_module, pyflink_names, why_missing
from riverrun.compat.pyflink.table import PYFLINK_VERSION, TABLE

ENTRIES = [(module, name) for module, entries in TABLE.items() for name in entries]


@pytest.mark.parametrize(("module", "name"), ENTRIES)
def test_every_entry_of_the_table_is_a_name_that_pyflink_defines_there(
    module: str, name: str
) -> None:
    assert defining_module(module, name) == module


@pytest.mark.parametrize(("module", "name"), ENTRIES)
def test_every_entry_of_the_table_leads_to_an_object_of_riverrun(module: str, name: str) -> None:
    target, _, attribute = TABLE[module][name].partition(":")
    value = getattr(importlib.import_module(target), attribute)

    # Named where it is defined: that is the name by which a worker finds it.
    assert isinstance(value, str) or value.__module__ == target


def test_the_version_is_the_one_that_was_surveyed() -> None:
    assert pyflink_names().version == PYFLINK_VERSION


def test_a_package_has_the_names_it_takes_from_its_modules() -> None:
    for package, name, module in [
        ("pyflink", "__version__", "pyflink.version"),
        ("pyflink.common", "Types", "pyflink.common.typeinfo"),
        ("pyflink.datastream", "KeyedProcessFunction", "pyflink.datastream.functions"),
        ("pyflink.datastream.functions", "TimerService", "pyflink.datastream.timerservice"),
        (
            "pyflink.datastream.connectors",
            "NumberSequenceSource",
            "pyflink.datastream.connectors.number_seq",
        ),
        ("pyflink.metrics", "Counter", "pyflink.metrics.metricbase"),
        ("pyflink.table", "Row", "pyflink.common.types"),
    ]:
        assert defining_module(package, name) == module
        assert target_of(package, name) is not None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "pyflink.datastream.connectors.kafka.KafkaSource",
            "pyflink.datastream.connectors.kafka.KafkaSource: riverrun does not have it yet",
        ),
        (
            "pyflink.common.AvroRowSerializationSchema",
            "pyflink.common.AvroRowSerializationSchema: riverrun does not have it yet",
        ),
        ("pyflink.datastream.Qwxyz", "pyflink.datastream.Qwxyz: PyFlink 2.3.0 has no such name"),
        (
            "pyflink.datastream.DataStrem",
            "pyflink.datastream.DataStrem: PyFlink 2.3.0 has no such name; did you mean 'DataStream'?",
        ),
        (
            "pyflink.datastreams",
            "pyflink.datastreams: PyFlink 2.3.0 has no such name; did you mean 'datastream'?",
        ),
        (
            "pyflink.java_gateway",
            (
                "pyflink.java_gateway: belongs to PyFlink's connection to Flink's JVM, "
                "and riverrun has none; remove the import"
            ),
        ),
    ],
)
def test_a_missing_name_is_told_from_one_that_does_not_exist(name: str, said: str) -> None:
    assert why_missing(name) == said


def test_the_examples_of_the_module_hold() -> None:
    assert doctest.testmod(names).failed == 0
