"""``river spark-conf``: the settings, for each reader."""

import json
import shlex

from typer.testing import CliRunner

from riverrun.cli.health import spark_defaults
from riverrun.cli.main import app
from riverrun.spark.driver.settings import SETTINGS, application_settings, check_context


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["spark-conf", *arguments])
    assert result.exit_code == 0
    return result.output


def test_the_arguments_of_spark_submit_give_every_setting() -> None:
    words = shlex.split(printed().replace("\\\n", " "))

    assert words[::2] == ["--conf"] * len(application_settings())
    assert dict(word.split("=", 1) for word in words[1::2]) == application_settings()


def test_the_defaults_file_gives_every_setting_and_says_why() -> None:
    text = printed("--format", "spark-defaults")

    assert spark_defaults(text) == application_settings()
    check_context(spark_defaults(text).get)
    assert [setting.key for setting in SETTINGS if setting.why not in text] == []


def test_json_gives_every_setting() -> None:
    assert json.loads(printed("--format", "json")) == application_settings()
