"""PyFlink's connectors that are described only: built as in PyFlink, refused when they are to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.compat.pyflink.described import Described, described, listed
from riverrun.compat.pyflink.modules import install, uninstall
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ProgramError
from riverrun.datastream.environment import StreamExecutionEnvironment


@pytest.fixture(autouse=True)
def pyflink() -> Iterator[None]:
    install()
    yield
    uninstall()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(Configuration())


def pulsar_source() -> Any:
    from pyflink.common import SimpleStringSchema  # noqa: PLC0415
    from pyflink.datastream.connectors.pulsar import (  # noqa: PLC0415
        PulsarSource,
        StartCursor,
    )

    return (
        PulsarSource.builder()
        .set_service_url("pulsar://broker:6650")
        .set_topics("payments")
        .set_start_cursor(StartCursor.earliest())
        .set_deserialization_schema(SimpleStringSchema())
        .build()
    )


def test_every_listed_class_can_be_made() -> None:
    for module, classes in listed().items():
        for name in classes:
            assert described(module, name).__name__ == name.rpartition(".")[2]


def test_a_builder_gives_an_object_that_knows_what_it_was_told() -> None:
    source = pulsar_source()

    assert isinstance(source, Described)
    assert source.setting("service_url") == "pulsar://broker:6650"
    assert source != pulsar_source().setting("topics")
    assert "payments" in repr(source)


def test_a_program_that_wants_to_run_one_is_refused_by_name(
    env: StreamExecutionEnvironment,
) -> None:
    with pytest.raises(
        ProgramError, match=r"from_source: .*pulsar\.PulsarSource is known here by its name"
    ):
        env.from_source(pulsar_source(), None, "pulsar")


def test_described_sinks_are_refused_too(env: StreamExecutionEnvironment) -> None:
    from pyflink.datastream.connectors.pulsar import (  # noqa: PLC0415
        PulsarSink,
    )

    sink = PulsarSink.builder().set_topics("t").build()
    with pytest.raises(ProgramError, match="PulsarSink is known here"):
        env.from_collection([1]).sink_to(sink)
    env.close()


def test_a_call_that_pyflink_would_refuse_is_refused() -> None:
    from pyflink.datastream.connectors.pulsar import PulsarSource  # noqa: PLC0415

    with pytest.raises(TypeError, match="missing a required argument: 'service_url'"):
        PulsarSource.builder().set_service_url()


def test_what_was_set_can_be_asked_for() -> None:
    assert pulsar_source().setting("topics") == "payments"
