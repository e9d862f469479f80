"""Write the reference pages that follow from the code: configuration.md and api.md.

Run it after a change of the options or of the public names: python docs/generate_reference.py
A test compares the pages with what this script makes.
"""  # noqa: INP001  (a script beside the pages, not a package)

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import riverrun
from riverrun.core.accepted_options import ACCEPTED, OPEN_PREFIXES
from riverrun.core.config_options import ConfigOption
from riverrun.core.option_meanings import default_text, meaning_of
from riverrun.core.option_registry import KNOWN, OPTIONS

FOLDER: Final = Path(__file__).parent / "reference"
NOTE: Final = "<!-- written by docs/generate_reference.py; do not edit -->"

SECTIONS: Final = (
    ("riverrun's own", ("riverrun.",)),
    ("The program", ("parallelism.", "pipeline.", "execution.runtime", "execution.buffer")),
    ("Metrics", ("metrics.",)),
    ("Checkpoints and state", ("execution.checkpointing.", "execution.state-recovery.", "state.")),
    ("Object stores", ("s3.",)),
    ("Restart", ("restart-strategy.",)),
    ("The cluster", ("",)),
)

ABOUT_CONFIGURATION: Final = """\
# Configuration

Options are set by key: in the file `river.yaml`, in environment variables, on the command line
(`river run -D key=value`), or by the program. [The guide](../guide/configuration.md) says how, and which of
several settings counts; `river config` shows those that count. Keys are Flink's where Flink has one;
riverrun's own begin with `riverrun.`. Keys that begin with `spark.` go to Spark when riverrun starts the
Spark application.

An unknown key under a prefix of this page is refused, with the nearest known one. Other keys pass: they may
belong to your own functions.
"""

ABOUT_API: Final = """\
# Public names

Everything that `from riverrun import ...` gives. Names that are not here are internal and may change. The
docstrings have the whole contract: `help(riverrun.DataStream)`.

Some are contracts for what comes later and have no operator in this version: the functions of two streams
(`Co...`), `AggregateFunction`, and the timers of `TimerService`.
"""


def configuration_page() -> str:
    """The page of all options."""
    lines = [NOTE, "", ABOUT_CONFIGURATION]
    rest = sorted(OPTIONS)
    for title, prefixes in SECTIONS:
        chosen = [key for key in rest if key.startswith(prefixes)]
        rest = [key for key in rest if key not in chosen]
        lines += [f"## {title}", ""]
        lines += ["| key | default | value | meaning |", "|---|---|---|---|"]
        lines += [_option_row(OPTIONS[key]) for key in chosen]
        lines.append("")
    lines += list(_accepted())
    return "\n".join(lines) + "\n"


def _option_row(option: ConfigOption[Any]) -> str:
    meaning = meaning_of(option)
    if option.fallback_keys:
        older = ", ".join(f"`{key}`" for key in option.fallback_keys)
        meaning += f" (also {older})"
    return f"| `{option.key}` | {default_text(option)} | {option.type.form} | {meaning} |"


def _accepted() -> Iterator[str]:
    yield "## Accepted without effect"
    yield ""
    yield "Keys of Flink that set what does not exist here (a JVM's memory, Netty, bundles) are accepted, so that"
    yield "a Flink configuration can be used as it is: everything below"
    yield ", ".join(f"`{prefix}`" for prefix in sorted(OPEN_PREFIXES)) + ", and these:"
    yield ""
    without_effect = sorted(key for key in ACCEPTED if key not in KNOWN)
    yield "\n".join(f"- `{key}`" for key in without_effect)


def api_page() -> str:
    """The page of all public names."""
    lines = [NOTE, "", ABOUT_API, "| name | module | what it is |", "|---|---|---|"]
    lines += [_name_row(name) for name in sorted(riverrun.__all__)]
    return "\n".join(lines) + "\n"


def _name_row(name: str) -> str:
    value = getattr(riverrun, name)
    summary = (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")
    return f"| `{name}` | `{value.__module__}` | {summary} |"


PAGES: Final = {"configuration.md": configuration_page, "api.md": api_page}
"""File name in the reference -> what makes its text."""


def main() -> None:
    """Write every page."""
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make())


if __name__ == "__main__":
    main()
