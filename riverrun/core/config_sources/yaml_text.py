"""Settings in YAML: nested, flat or both, as in Flink's ``config.yaml``.

Only the shape of the text is YAML's business here. A value stays as it was written: its option knows
whether ``10 s``, ``off`` or ``010`` is a duration, a word or a number, and YAML's own guesses (``off`` as
a truth value, ``1:30`` as ninety) would only be in the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from riverrun.core.config_options import render_map
from riverrun.core.config_sources.setting import Origin, Setting, Source
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import KNOWN

_NULL: Final = "tag:yaml.org,2002:null"
_TAGS: Final = "tag:yaml.org,2002:"
_MERGE: Final = "tag:yaml.org,2002:merge"
_NEEDS_QUOTES: Final = frozenset(",[]{}'\"#:&*!|>%@`")


def read_yaml(text: str, place: str, source: Source) -> list[Setting]:
    """The settings in ``text``, in the order of their lines.

    Args:
        text: one YAML document: a mapping, or nothing.
        place: what it is called in messages; the line is added.
        source: whose settings these are.

    Raises:
        ConfigError: what is not YAML, not a mapping, has no value, or is said twice; with its line.
    """
    return _Reader(place, source).read(text)


class _Loader(yaml.SafeLoader):
    """Composes nodes; refuses references, with which a short text can mean an endless one."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            alias: yaml.AliasEvent = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"the reference *{alias.anchor} is not read here",
                problem_mark=alias.start_mark,  # type: ignore[arg-type]  # stubs: perhaps C's
            )
        return super().compose_node(parent, index)


@dataclass(frozen=True, slots=True)
class _Reader:
    place: str
    source: Source

    def read(self, text: str) -> list[Setting]:
        try:
            root = _Loader(text).get_single_node()
        except yaml.MarkedYAMLError as error:
            raise ConfigError(self._not_yaml(text, error)) from error
        except yaml.YAMLError as error:
            raise ConfigError(f"{self.place}: cannot be read as YAML: {error}") from error
        if root is None or root.tag == _NULL:
            return []
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(
                f"{self._at(root)}: found {_what(root)}; expected lines such as key: value"
            )
        found: dict[str, Setting] = {}
        for setting in self._flattened(root, ""):
            before = found.setdefault(setting.key, setting)
            if before is not setting:
                raise ConfigError(
                    f"{setting.origin.place}: option {setting.key!r}: was set before, at "
                    f"{before.origin.place}; set it once"
                )
        return list(found.values())

    def _flattened(self, mapping: yaml.MappingNode, prefix: str) -> Iterator[Setting]:
        for key_node, value in mapping.value:
            key = prefix + self._key(key_node)
            if isinstance(value, yaml.MappingNode) and not _is_map(key):
                yield from self._flattened(value, f"{key}.")
            else:
                origin = Origin(self.source, self._at(key_node))
                yield Setting(key, self._text(key, value), origin)

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise ConfigError(f"{self._at(node)}: a key is {_what(node)}; expected a name")
        if node.tag == _MERGE:
            raise ConfigError(f"{self._at(node)}: merging with '<<' is not read here")
        return str(node.value).strip()

    def _text(self, key: str, node: yaml.Node) -> str:
        if node.tag == _NULL:
            raise ConfigError(
                f"{self._at(node)}: option {key!r}: has no value; give it one, or remove the line"
            )
        if not node.tag.startswith(_TAGS):
            raise ConfigError(
                f"{self._at(node)}: option {key!r}: has the tag {node.tag!r}, which is not read here"
            )
        if isinstance(node, yaml.MappingNode):
            entries = self._flattened(node, "")
            return render_map({entry.key: entry.value for entry in entries})
        return str(node.value) if isinstance(node, yaml.ScalarNode) else _flow(node)

    def _at(self, node: yaml.Node) -> str:
        return f"{self.place}:{node.start_mark.line + 1}"

    def _not_yaml(self, text: str, error: yaml.MarkedYAMLError) -> str:
        mark = error.problem_mark or error.context_mark
        if mark is None:
            return f"{self.place}: cannot be read as YAML: {error.problem}"
        lines = text.splitlines()
        line = lines[mark.line] if mark.line < len(lines) else ""
        indentation = line[: len(line) - len(line.lstrip())]
        advice = "; indent with spaces, YAML allows no tabs" if "\t" in indentation else ""
        return f"{self.place}:{mark.line + 1}: cannot be read as YAML: {error.problem}{advice}"


def _is_map(key: str) -> bool:
    option = KNOWN.get(key)
    return option is not None and option.type.holds_entries


def _what(node: yaml.Node) -> str:
    match node:
        case yaml.SequenceNode():
            return "a list"
        case yaml.MappingNode():
            return "a mapping"
        case _:
            return repr(node.value)


def _flow(node: yaml.Node) -> str:
    """A list on one line, as lists stand in the text of an option."""
    match node:
        case yaml.SequenceNode():
            return "[" + ", ".join(_flow(item) for item in node.value) + "]"
        case yaml.MappingNode():
            pairs = (f"{_flow(key)}: {_flow(value)}" for key, value in node.value)
            return "{" + ", ".join(pairs) + "}"
        case _:
            text = str(node.value)
            plain = text and text.strip() == text and not set(text) & _NEEDS_QUOTES
            return text if plain else "'" + text.replace("'", "''") + "'"
