"""The files under docs/deploy: as far as they can be checked without a cluster."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from riverrun.core.config_sources.setting import Source
from riverrun.core.config_sources.yaml_text import read_yaml
from riverrun.core.option_registry import KeyKind, kind_of

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
VERSIONS = ("1.30.0", "1.33.0")


def documents() -> list[Any]:
    return [
        pytest.param(document, id=f"{path.name}-{document['kind']}-{document['metadata']['name']}")
        for path in MANIFESTS
        for document in yaml.safe_load_all(path.read_text())
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", documents())
def test_manifests_are_what_kubernetes_takes(document: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def test_names_in_manifests_refer_to_what_is_there() -> None:
    every = [d for path in MANIFESTS for d in yaml.safe_load_all(path.read_text())]
    names = {(each["kind"], each["metadata"]["name"]) for each in every}
    pods = next(each for each in every if each["kind"] == "StatefulSet")["spec"]
    container = pods["template"]["spec"]["containers"][0]

    assert ("ServiceAccount", pods["template"]["spec"]["serviceAccountName"]) in names
    assert ("Service", pods["serviceName"]) in names
    assert {
        ("ConfigMap", v["configMap"]["name"]) for v in pods["template"]["spec"]["volumes"]
    } <= names
    labels = pods["template"]["metadata"]["labels"].items()
    for service in (each for each in every if each["kind"] == "Service"):
        assert service["spec"]["selector"].items() <= labels
        ports = {port["name"] for port in container["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    assert {each["metadata"]["namespace"] for each in every} == {"streaming"}


def settings_in(text: str) -> list[str]:
    return [setting.key for setting in read_yaml(text, "river.yaml", Source.FILE)]


def test_every_setting_in_the_config_map_is_an_option() -> None:
    config = next(yaml.safe_load_all((DEPLOY / "kubernetes" / "config.yaml").read_text()))

    keys = settings_in(config["data"]["river.yaml"])

    assert len(keys) > 10
    assert [key for key in keys if kind_of(key) not in (KeyKind.OPTION, KeyKind.FREE)] == []


@pytest.mark.parametrize("page", ["standalone.md", "yarn.md"])
def test_every_setting_in_the_pages_is_an_option(page: str) -> None:
    text = (DEPLOY / page).read_text().split("```yaml\n")[1].split("```")[0]

    keys = settings_in(text)

    assert len(keys) > 5
    assert [key for key in keys if kind_of(key) not in (KeyKind.OPTION, KeyKind.FREE)] == []


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell here")
def test_the_entrypoint_runs_commands_and_knows_executors(tmp_path: Path) -> None:
    script = DEPLOY / "docker" / "entrypoint.sh"
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\necho "$@"\n')
    java.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "SPARK_HOME": "/opt/spark",
        "SPARK_JAVA_OPT_0": "-Dspark.driver.port=1",
        "SPARK_EXECUTOR_MEMORY": "1g",
        "SPARK_EXECUTOR_ID": "7",
        **dict.fromkeys(
            (
                "SPARK_DRIVER_URL",
                "SPARK_EXECUTOR_CORES",
                "SPARK_APPLICATION_ID",
                "SPARK_EXECUTOR_POD_IP",
                "SPARK_RESOURCE_PROFILE_ID",
                "SPARK_EXECUTOR_POD_NAME",
            ),
            "x",
        ),
    }

    def run(*arguments: str) -> str:
        command = ["sh", str(script), *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("echo", "hello") == "hello\n"
    assert "--executor-id 7" in run("executor")
    assert "-Dspark.driver.port=1 -Xms1g" in run("executor")
