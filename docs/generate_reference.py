"""Write the reference pages that follow from the code: configuration.md, api.md and rest.md.

Run it after a change of the options, the public names or the routes: python docs/generate_reference.py
A test compares the pages with what this script makes.
"""  # noqa: INP001  (a script beside the pages, not a package)

from __future__ import annotations

import inspect
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec

import riverrun
from riverrun.core.accepted_options import ACCEPTED, OPEN_PREFIXES
from riverrun.core.config_options import ConfigOption
from riverrun.core.option_meanings import default_text, meaning_of
from riverrun.core.option_registry import KNOWN, OPTIONS
from riverrun.core.public_homes import HOMES
from riverrun.rest.routes import ROUTES
from riverrun.rest.routing import BodyKind, Raw, Route
from riverrun.rest.unsupported import REASONS

FOLDER: Final = Path(__file__).parent / "reference"
NOTE: Final = "<!-- written by docs/generate_reference.py; do not edit -->"

SECTIONS: Final = (
    ("riverrun's own", ("riverrun.",)),
    (
        "The program",
        (
            "parallelism.",
            "pipeline.",
            "execution.runtime",
            "execution.buffer",
            "taskmanager.network.",
        ),
    ),
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

ABOUT_REST: Final = """\
# REST interface

The JobManager answers on `rest.port` (8081), with and without `/v1` before each path. Paths, verbs, bodies and
status codes are those of Flink's interface; riverrun's own operations (`POST /jobs`, `/artifacts`,
`/jobs/{jobid}/client-values`) carry jobs and values between clients and the JobManager. `GET /openapi.json`
has the types of everything. [Decision 0027](../decisions/0027-rest.md) says where answers differ from those of
a real Flink.

- Every error is `{"errors": ["..."]}`: 400 the request is wrong, 401 the token is missing or wrong, 403 this
  JobManager does not do it, 404 what the path names is not there, 405 not with this method, 408 the body did not
  come, 409 not possible as things stand, 413 the body is too large, 431 the head of the request is, 501 not
  offered, 503 a store or Spark did not answer.
- Operations that take a while answer 202 (or 200 where Flink does) with a `request-id`; the path with that id tells
  `IN_PROGRESS` or `COMPLETED`, and what came of it, until 300 s after the end. A request that is repeated with the
  same `triggerId` joins the first.
- With `riverrun.rest.token` each request carries `Authorization: Bearer <token>`.
"""
_BODIES: Final = {
    BodyKind.BYTES: "body of a client (msgpack)",
    BodyKind.STREAM: "the bytes of the file",
    BodyKind.FILE: "form with the file in `jarfile`",
}


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
    lines += [_name_row(name) for name in sorted(HOMES)]
    return "\n".join(lines) + "\n"


def _name_row(name: str) -> str:
    value = getattr(riverrun, name)
    summary = (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")
    return f"| `{name}` | `{value.__module__}` | {summary} |"


def rest_page() -> str:
    """The page of all operations of the REST interface."""
    lines = [NOTE, "", ABOUT_REST, "## Operations", ""]
    lines += ["| operation | what it does | takes | gives |", "|---|---|---|---|"]
    refused = {(method, path) for method, path in REASONS}
    lines += [_route_row(route) for route in ROUTES if (route.method, route.path) not in refused]
    lines += ["", "## Not offered", "", "Answered 501, with the reason.", ""]
    lines += ["| operation | why not |", "|---|---|"]
    lines += [f"| `{method} {path}` | {reason} |" for (method, path), reason in REASONS.items()]
    return "\n".join(lines) + "\n"


def _route_row(route: Route) -> str:
    given = [f"`{field.encode_name}`" for field in msgspec.structs.fields(route.query)]
    if route.takes is not None or route.body is not BodyKind.JSON:
        given.append(_BODIES.get(route.body) or f"body {_fields_of(route.takes)}")
    answer = (
        "bytes" if route.gives is Raw else "" if route.gives is None else _fields_of(route.gives)
    )
    status = "" if route.status == HTTPStatus.OK else f"{int(route.status)}; "
    return (
        f"| `{route.method} {route.path}` | {route.summary} | {', '.join(given)} "
        f"| {(status + answer).removesuffix('; ')} |"
    )


def _fields_of(kind: Any) -> str:
    """The names in a body; those of its entries where it is a list or a map."""
    inner = get_args(kind)
    if inner:
        return f"{'list' if get_origin(kind) is list else 'map'} of {_fields_of(inner[-1])}"
    return ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(kind))


PAGES: Final = {"configuration.md": configuration_page, "api.md": api_page, "rest.md": rest_page}
"""File name in the reference -> what makes its text."""


def main() -> None:
    """Write every page."""
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make())


if __name__ == "__main__":
    main()
