"""Settings in environment variables."""

from __future__ import annotations

from collections import Counter

import pytest

from riverrun.core.config_sources.effective import load_configuration
from riverrun.core.config_sources.variables import OTHER_VARIABLES, VARIABLES, variable_of
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import OPTIONS


def test_every_variable_means_one_option() -> None:
    names = Counter(variable_of(key) for key in OPTIONS)

    assert [name for name, count in names.items() if count > 1] == []
    assert not set(VARIABLES) & OTHER_VARIABLES


def test_every_option_has_its_variable() -> None:
    assert {key: VARIABLES[variable_of(key)] for key in OPTIONS} == {key: key for key in OPTIONS}


def test_the_variable_of_an_older_name_sets_the_option() -> None:
    values = load_configuration({"RIVERRUN_STATE_CHECKPOINTS_DIR": "/x"}).values()

    assert values == {"execution.checkpointing.dir": "/x"}


def test_an_empty_variable_sets_nothing() -> None:
    environ = {"RIVERRUN_MASTER": "", "RIVERRUN_PROPERTIES": " \n", "RIVERRUN_CONF": ""}

    assert load_configuration(environ).values() == {}


def test_properties_are_lines_as_in_a_file() -> None:
    properties = "parallelism.default: 3\nspark:\n  executor.memory: 1g\n"

    effective = load_configuration({"RIVERRUN_PROPERTIES": properties})

    assert effective.values() == {"parallelism.default": "3", "spark.executor.memory": "1g"}
    place = effective.settings["spark.executor.memory"].origin.place
    assert place == "RIVERRUN_PROPERTIES:3"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"RIVERRUN_PARALLELISM_DEFAULT": "many"},
            "RIVERRUN_PARALLELISM_DEFAULT: option 'parallelism.default': is 'many'; expected a whole number",
        ),
        (
            {"RIVERRUN_PROPERTIES": "a: 1\nriverrun.mastr: x"},
            (
                "RIVERRUN_PROPERTIES:2: option 'riverrun.mastr': there is no such option; "
                "did you mean 'riverrun.master'?"
            ),
        ),
        ({"RIVERRUN_CONF": "[]"}, "RIVERRUN_CONF: is list; expected a JSON object"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_variable(
    environ: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load_configuration(environ)
    assert str(refused.value) == message


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(ConfigError, match="RIVERRUN_CONF: is not JSON"):
        load_configuration({"RIVERRUN_CONF": "{"})


def test_a_variable_that_is_nearly_an_option_is_reported() -> None:
    effective = load_configuration({"RIVERRUN_PARALELISM_DEFAULT": "3", "RIVERRUN_QQQ": "1"})

    assert effective.values() == {}
    assert effective.notes == [
        (
            "environment variable RIVERRUN_PARALELISM_DEFAULT: no option is called so; "
            "did you mean RIVERRUN_PARALLELISM_DEFAULT?"
        ),
        "environment variable RIVERRUN_QQQ: no option is called so; RIVERRUN_PROPERTIES takes any key",
    ]


def test_variables_that_are_no_options_go_on_working() -> None:
    environ = {"RIVERRUN_JAVA_SEARCH": "/opt", "RIVERRUN_TEST_MARK": "x", "PATH": "/bin"}

    assert load_configuration(environ).notes == []


def test_what_kubernetes_sets_for_a_service_of_our_name_is_left_alone() -> None:
    environ = {
        "RIVERRUN_SERVICE_HOST": "10.0.0.1",
        "RIVERRUN_SERVICE_PORT_REST": "8081",
        "RIVERRUN_PORT_8081_TCP_ADDR": "10.0.0.1",
        "RIVERRUN_REST_PORT": "tcp://10.0.0.1:8081",
    }

    effective = load_configuration(environ)

    assert (effective.values(), effective.notes) == ({}, [])
