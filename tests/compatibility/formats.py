"""What snapshots look like, taken from the code and from snapshots that it writes now.

``format.json`` has what it was when somebody last looked. ``python -m tests.compatibility.formats`` records
what it is now; it refuses to as long as a change is not one that readers of ``FORMAT_VERSION`` can bear.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Final, cast

import msgspec

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.protocol import frames, snapshots
from riverrun.protocol.elements import Barrier, Element, EndOfInput, Watermark, WatermarkStatus
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde import type_json
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.types import Types
from riverrun.state.hashmap import snapshot_file
from riverrun.state.parquet import facts
from riverrun.state.rocksdb import canonical, catalog, rows
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.values import ValueCodec
from riverrun.state.schema import StateSchema, schema_from
from riverrun.state.serializers import EntrySerializer
from tests.compatibility.kept import CORPUS, PROGRAMS, files
from tests.compatibility.make_corpus import checkpoint, savepoint
from tests.compatibility.written import appearance_of

FILE: Final = Path(__file__).with_name("format.json")
CHANGED: Final = (
    "what snapshots look like has changed, and a release that knows the recorded version cannot read it; "
    "undo the change, or 1. add 1 to FORMAT_VERSION (riverrun/protocol/snapshots.py) and to the version "
    "of the part that changed, 2. let the readers take the older versions over (a migration), 3. record "
    "the new format with 'python -m tests.compatibility.formats', 4. when the release gets its number, "
    "add its snapshots with 'python -m tests.compatibility.make_corpus'"
)
ADDED: Final = (
    "snapshots hold something new that older releases pass over; if that is meant, record it with "
    "'python -m tests.compatibility.formats'"
)

_LONG: Final = Types.LONG()
_TYPES: Final = [
    *(BasicTypeInfo(each) for each in BasicType if each is not BasicType.INSTANT),
    Types.INSTANT(),
    Types.PICKLED_BYTE_ARRAY(),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.BASIC_ARRAY(Types.LONG()),
    Types.OBJECT_ARRAY(Types.STRING()),
    Types.LIST(_LONG),
    Types.MAP(Types.STRING(), _LONG),
    Types.TUPLE([_LONG, Types.STRING()]),
    Types.ROW([_LONG]),
    Types.ROW_NAMED(["a", "b"], [_LONG, Types.STRING()]),
]
_KEYS: Final = [
    None,
    0,
    -1,
    300,
    2**70,
    True,
    1.5,
    "text",
    b"bytes",
    ("a", 1),
    ("nested", (1, None)),
]
_VALUES: Final = [
    (_LONG, 7),
    (Types.STRING(), "text"),
    (Types.DOUBLE(), 1.5),
    (Types.LIST(_LONG), [1, 2]),
    (Types.MAP(Types.STRING(), _LONG), {"a": 1}),
    (Types.TUPLE([_LONG, Types.STRING()]), (1, "a")),
]


def found() -> dict[str, Any]:
    """All of it, as plain data."""
    whole = {
        "versions": versions(),
        "structs": _structs(),
        "layouts": _layouts(),
        "types": {repr(each): type_json.type_to_json(each) for each in _TYPES},
        "keys": {repr(key): canonical.encode(key)[0].hex() for key in _KEYS},
        "values": {repr(value): ValueCodec(of).encode(value).hex() for of, value in _VALUES},
        "entries": dict(_entries()),
        "elements in flight": _elements(),
        "snapshots": _snapshots(),
        "corpus": {release.name: digest_of(release) for release in sorted(CORPUS.glob("*/"))},
    }
    return cast("dict[str, Any]", json.loads(json.dumps(whole)))


def versions() -> dict[str, int]:
    """The numbers that readers go by."""
    return {
        "checkpoints and savepoints": snapshots.FORMAT_VERSION,
        "tables of savepoints": facts.VERSION,
        "files of hashmap": snapshot_file.VERSION,
        "rows of rocksdb": rows.LAYOUT_VERSION,
        "rows of rocksdb with entries beside them": catalog.WITH_ENTRIES,
        "types": type_json.VERSION,
        "frames": frames.VERSION,
    }


def digest_of(release: Path) -> str:
    """Changes when anything in the corpus of a release does."""
    whole = hashlib.blake2b(digest_size=16)
    for path in files(release):
        whole.update(str(path.relative_to(release)).encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def changes(recorded: Any, now: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """What differs: where, and ``added``, ``removed`` or both values."""
    if not isinstance(recorded, dict) or not isinstance(now, dict):
        if recorded != now:
            yield at, f"was {recorded!r}, is {now!r}"
        return
    for name in sorted({*recorded, *now}):
        place = f"{at}/{name}" if at else name
        if name not in recorded:
            yield place, "added"
        elif name not in now:
            yield place, "removed"
        else:
            yield from changes(recorded[name], now[name], place)


def _structs() -> dict[str, Any]:
    kept = (
        CheckpointMetadata,
        snapshot_file.FileIndex,
        catalog.SnapshotFacts,
        facts.FileFacts,
    )
    _, components = msgspec.json.schema_components(kept)
    return {name: _bare(schema) for name, schema in sorted(components.items())}


def _bare(schema: Any) -> Any:
    """A JSON schema without words for people."""
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _bare(part) for name, part in schema.items() if name not in ("description", "title")
    }


def _layouts() -> dict[str, list[str]]:
    """How numbers stand in files of our own, by what writes them."""
    return {
        name: sorted(each.format for each in vars(module).values() if isinstance(each, Struct))
        for name, module in (("hashmap", snapshot_file), ("rocksdb", rows))
    }


def _metas() -> dict[str, StateMeta]:
    typed = {"key": type_json.type_to_json(_LONG)}
    return {
        "value": StateMeta("s", StateKind.VALUE),
        "list": StateMeta("s", StateKind.LIST),
        "map": StateMeta("s", StateKind.MAP),
        "in a namespace": StateMeta("s", StateKind.VALUE, typed, namespaced=True),
        "with a time to live": StateMeta("s", StateKind.VALUE, ttl=True),
        "timers": StateMeta("s", StateKind.TIMERS, namespaced=True),
    }


_STORED: Final[dict[str, tuple[Any, Any]]] = {
    "value": (1, "v"),
    "list": (1, ["a", "b"]),
    "map": (1, {"k": "v"}),
    "in a namespace": ((1, (0, 10)), "v"),
    "with a time to live": (1, ("v", 99)),
    "timers": ((1, (99, None)), True),
}
"""An address, and what is stored there."""


def _entries() -> Iterator[tuple[str, Any]]:
    """Of each form of state: which columns a block of hashmap has, and the rows of rocksdb."""
    for name, meta in _metas().items():
        address, stored = _STORED[name]
        schema = schema_from(meta)
        block = EntrySerializer(schema, "operator").encode([address], [stored])
        tags = [tag for tag, _ in msgspec.msgpack.decode(block, type=list[tuple[int, bytes]])]
        row_key, row_value = _row(schema, address, stored)
        yield name, {"hashmap": tags, "rocksdb": [row_key.hex(), row_value.hex()]}


def _row(schema: StateSchema, address: Any, stored: Any) -> tuple[bytes, bytes]:
    written = RowFormat(schema, 3, 128, "operator")
    (place,) = written.places_in(5, [address])
    if written.is_map:
        return written.map_value(place, *next(iter(stored.items())))
    if written.is_list:
        return written.piece_row(place, 9), written.list_value(place, stored)
    return place.prefix, written.value(place, stored)


def _elements() -> dict[str, str]:
    control: list[Element] = [Watermark(5), WatermarkStatus(idle=True), Barrier(7, 8), EndOfInput()]
    encoded = {type(each).__name__: frames.encode_control(each).hex() for each in control}
    pieces = frames.encode_records(0, 1, b"run", [5])
    return {**encoded, "Records": b"".join(map(bytes, pieces)).hex()}


def _snapshots() -> dict[str, Any]:
    """What snapshots that are written now hold, by program."""
    seen = {}
    for program in PROGRAMS:
        if program == "in_flight":
            continue
        with tempfile.TemporaryDirectory() as folder:
            places = [Path(folder) / "savepoint", Path(folder) / "hashmap"]
            savepoint(program, places[0], Path(folder) / "first")
            checkpoint(program, places[1], Path(folder) / "second")
            seen[program] = appearance_of(places)
    return seen


def unreadable(recorded: Any, now: Any) -> list[str]:
    """Those of ``changes`` that a reader of the recorded format cannot bear."""
    differs = changes(recorded, now)
    return [f"{at}: {how}" for at, how in differs if how != "added" and not at.startswith("corpus")]


def main() -> int:
    """Record what there is, if that is right."""
    now = found()
    before = json.loads(FILE.read_text()) if FILE.exists() else now
    differs = list(changes(before, now))
    broken = unreadable(before, now)
    if broken and before["versions"] == now["versions"]:
        sys.stderr.write(f"not recorded: {CHANGED}:\n  " + "\n  ".join(broken) + "\n")
        return 1
    FILE.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
    sys.stdout.write("\n".join(["recorded", *(f"  {at}: {how}" for at, how in differs)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
