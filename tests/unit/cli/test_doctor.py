"""``river doctor``: what a machine lacks."""

from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

import riverrun
from riverrun.cli import health
from riverrun.cli.health import Finding, Health, findings
from riverrun.cli.main import app
from riverrun.spark.java import JavaHome
from tests.unit.cli.conftest import River


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> JavaHome:
    home = JavaHome(Path("/a/java"), 21, has_vector_module=True)
    monkeypatch.setattr(health, "find_java", lambda _: home)
    return home


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The packages that seem to be installed, with their versions."""
    versions = {"pyspark": "4.3.0", "pyarrow": "20.0", "pandas": "2.3.1", "numpy": "2.1"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    return versions


def found(subject: str, **env: str) -> Finding:
    [finding] = [finding for finding in findings(env) if finding.subject == subject]
    return finding


@pytest.mark.usefixtures("java", "installed")
class TestFindings:
    def test_a_machine_that_has_everything_is_well(self) -> None:
        assert {finding.health for finding in findings({})} == {Health.GOOD}

    def test_a_package_that_is_not_installed_is_missing(self, installed: dict[str, str]) -> None:
        del installed["pyspark"]

        assert found("pyspark") == Finding(
            "pyspark", "not installed", Health.MISSING, "pip install 'riverrun[spark]'"
        )

    def test_another_series_of_spark_counts_as_missing(self, installed: dict[str, str]) -> None:
        installed["pyspark"] = "4.1.2"

        assert found("pyspark").health is Health.MISSING
        assert found("pyspark").found == "4.1.2"

    def test_a_machine_without_java_is_told_where_to_get_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(health, "find_java", lambda _: None)

        assert found("Java").health is Health.MISSING
        assert "JAVA_HOME" in found("Java").advice

    def test_defaults_that_do_not_serve_are_noted(self, tmp_path: Path) -> None:
        (tmp_path / "spark-defaults.conf").write_text("spark.speculation true\n")

        finding = found("Spark settings", SPARK_CONF_DIR=str(tmp_path))

        assert finding.health is Health.ODD
        assert "spark.speculation" in finding.advice

    def test_the_defaults_of_an_installation_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "conf").mkdir()
        file = tmp_path / "conf" / "spark-defaults.conf"
        file.write_text("")

        assert found("Spark settings", SPARK_HOME=str(tmp_path)).found == str(file)


@pytest.mark.usefixtures("java")
def test_the_table_shows_what_was_found(installed: dict[str, str]) -> None:
    result = CliRunner().invoke(app, ["doctor"])

    assert result.exit_code == 0
    assert "pyspark" in result.output
    assert installed["pyspark"] in result.output


@pytest.mark.usefixtures("java")
def test_something_missing_is_a_failure(installed: dict[str, str]) -> None:
    del installed["numpy"]

    result = CliRunner().invoke(app, ["doctor"])

    assert result.exit_code == 1
    assert "missing" in result.output


def test_machines_get_the_findings_and_the_version(river: River) -> None:
    findings = river("doctor", "--json").json["findings"]

    assert {frozenset(each) for each in findings} == {
        frozenset({"subject", "found", "health", "advice"})
    }
    assert river("version", "--json").json == {"version": riverrun.__version__}
