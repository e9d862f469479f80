"""Values that must not be shown."""

from __future__ import annotations

import pytest

from riverrun.core.config_options import INT, ConfigOption
from riverrun.core.configuration import Configuration
from riverrun.core.errors import ConfigError
from riverrun.core.ids import JobId
from riverrun.core.option_registry import OPTIONS
from riverrun.core.secrets import MASK, is_secret, masked, masked_settings
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph

SECRETS = [
    "s3.secret-key",
    "s3.access-key",
    "s3.access.key",
    "my.password",
    "my.passwd",
    "rest.auth.token",
    "security.ssl.rest.keystore-password",
    "properties.sasl.jaas.config",
    "fs.azure.account.key.mine.blob.core.windows.net",
    "metrics.reporter.dd.apikey",
    "spark.hadoop.fs.s3a.secret.key",
    "client.credentials",
    "MY_API_KEY",
]


@pytest.mark.parametrize("key", SECRETS)
def test_secrets_are_told_by_their_keys(key: str) -> None:
    assert is_secret(key)
    assert masked(key, "hush") == MASK


def test_of_the_options_only_those_that_are_secrets_are_masked() -> None:
    named = {key for key in OPTIONS if is_secret(key)}

    assert named >= {"s3.access-key", "s3.secret-key"}
    assert not {key for key in named if key.startswith(("execution.", "state.", "pipeline."))}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("postgres://me:hush@host/db", "postgres://me:******@host/db"),
        ("http://host:8080/path", "http://host:8080/path"),
        ("jdbc:x://host?user=a&password=hush&b=c", "jdbc:x://host?user=a&password=******&b=c"),
        ("Module required password='hu sh';", "Module required password=******;"),
        ("a plain value", "a plain value"),
    ],
)
def test_passwords_inside_other_values_are_masked(value: str, shown: str) -> None:
    assert masked("my.url", value) == shown


def test_a_configuration_shows_no_secrets() -> None:
    config = Configuration({"s3.secret-key": "hush", "pipeline.name": "x"})

    assert "hush" not in repr(config)
    assert "'pipeline.name': 'x'" in repr(config)
    assert masked_settings(config) == {"s3.secret-key": MASK, "pipeline.name": "x"}
    assert config["s3.secret-key"] == "hush"


def test_an_error_about_a_secret_does_not_tell_it() -> None:
    option = ConfigOption("my.secret-number", INT, 1)

    with pytest.raises(ConfigError) as refused:
        option.get({"my.secret-number": "hush"})

    assert str(refused.value) == ("option 'my.secret-number': is '******'; expected a whole number")


def test_a_submitted_job_does_not_tell_its_settings() -> None:
    submission = JobSubmission(
        JobId.random(), "job", JobGraph((), ()), config={"s3.secret-key": "hush"}
    )

    assert "hush" not in repr(submission)
