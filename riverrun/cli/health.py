"""What a job needs of the machine, and what is there."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from importlib import metadata
from pathlib import Path
from typing import Final

from riverrun import __version__
from riverrun.loops import COMPILED
from riverrun.spark.driver.settings import SettingsDoNotServe, check_context
from riverrun.spark.java import JavaNotFound, find_java

OLDEST_PYTHON: Final = (3, 11)
SPARK_SERIES: Final = "4.3."
_SPARK_PACKAGES: Final = ("pyspark", "pyarrow", "pandas", "numpy")


class Health(Enum):
    """How a finding compares with what is needed."""

    GOOD = auto()
    ODD = auto()
    MISSING = auto()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a job needs: what was found, and what to do if it does not serve."""

    subject: str
    found: str
    health: Health = Health.GOOD
    advice: str = ""


def findings(env: Mapping[str, str]) -> Iterator[Finding]:
    """Everything that matters, in the order in which to put it right.

    Args:
        env: the environment variables that steer where Java and Spark's settings are looked for.
    """
    yield Finding("riverrun", __version__)
    yield _python()
    yield _loops()
    for package in _SPARK_PACKAGES:
        yield _package(package)
    yield _java(env)
    yield Finding("cores", str(_cores()))
    yield _spark_settings(env)


def _python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("Python", found)
    return Finding("Python", found, Health.MISSING, "install Python 3.11 or newer")


def _loops() -> Finding:
    if COMPILED:
        return Finding("loops", "compiled")
    advice = "slower: install riverrun where there is a C compiler and Python's headers"
    return Finding("loops", "in Python", Health.ODD, advice)


def _package(name: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", Health.MISSING, "pip install 'riverrun[spark]'")
    if name == "pyspark" and not version.startswith(SPARK_SERIES):
        advice = f"{SPARK_SERIES}x is needed: pip install 'riverrun[spark]'"
        return Finding(name, version, Health.MISSING, advice)
    return Finding(name, version)


def _java(env: Mapping[str, str]) -> Finding:
    java = find_java(env)
    if java is None:
        return Finding(
            "Java", "no Java 17 or 21", Health.MISSING, str(JavaNotFound(())).splitlines()[-1]
        )
    return Finding("Java", f"{java.version} ({java.path})")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _spark_settings(env: Mapping[str, str]) -> Finding:
    """Whether applications that the user starts with the machine's own defaults can run jobs.

    A session that riverrun starts by itself has its settings from riverrun, so these never stop it.
    """
    file = _defaults_file(env)
    if file is None:
        return Finding("Spark settings", "riverrun's own (no spark-defaults.conf)")
    try:
        check_context(spark_defaults(file.read_text()).get)
    except SettingsDoNotServe as error:
        keys = ", ".join(key for key, *_ in error.found)
        advice = f"for jobs on a session of your own, change {keys}: river spark-conf"
        return Finding("Spark settings", str(file), Health.ODD, advice)
    return Finding("Spark settings", str(file))


def _defaults_file(env: Mapping[str, str]) -> Path | None:
    folders = [
        env.get("SPARK_CONF_DIR"),
        f"{env['SPARK_HOME']}/conf" if env.get("SPARK_HOME") else None,
    ]
    files = [Path(folder, "spark-defaults.conf") for folder in folders if folder]
    return next((file for file in files if file.is_file()), None)


def spark_defaults(text: str) -> dict[str, str]:
    r"""The settings in a ``spark-defaults.conf``.

    >>> spark_defaults("# note\nspark.a  1\nspark.b=x y\n")
    {'spark.a': '1', 'spark.b': 'x y'}
    """
    lines = (line.strip() for line in text.splitlines())
    pairs = (
        re.split(r"\s*[=:\s]\s*", line, maxsplit=1)
        for line in lines
        if line[:1] not in ("", "#", "!")
    )
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}
