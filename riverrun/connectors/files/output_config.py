"""How parts are named."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from riverrun.connectors.files.output_parts import Lineage
from riverrun.connectors.files.paths import is_hidden

__all__ = ["OutputFileConfig", "PartNames"]


class OutputFileConfig:
    """The beginning and the end of the names of parts.

    >>> config = OutputFileConfig.builder().with_part_prefix("data").with_part_suffix(".txt").build()
    >>> config.get_part_prefix(), config.get_part_suffix()
    ('data', '.txt')
    """

    def __init__(self, part_prefix: str = "part", part_suffix: str = "") -> None:
        for what, text in (("prefix", part_prefix), ("suffix", part_suffix)):
            if not isinstance(text, str) or "/" in text or "\0" in text:
                raise ValueError(f"output files: the {what} is {text!r}; expected text without '/'")
        if not part_prefix or is_hidden(part_prefix):
            raise ValueError(
                f"output files: the prefix is {part_prefix!r}; expected one that does not begin with '.' or "
                f"'_', which readers take for hidden files"
            )
        self._prefix = part_prefix
        self._suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """A builder of configurations; without more calls that of parts called ``part-...``."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        return self._prefix

    def get_part_suffix(self) -> str:
        return self._suffix

    class OutputFileConfigBuilder:
        """Gathers the parts of a configuration."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self._prefix, self._suffix)


@dataclass(slots=True)
class PartNames:
    """Gives each part of one writer a name that no other has: ``part-<sink>-<subtask>-<chance>-<number>``.

    A writer that is started again has another ``<chance>``, so its names never meet those from before.
    """

    prefix: str
    suffix: str
    writer: str
    number: int = 0

    @staticmethod
    def of(config: OutputFileConfig, suffix: str, lineage: Lineage) -> PartNames:
        """The names of a new writer; ``suffix`` comes after that of ``config``, unless it ends so."""
        ending = config.get_part_suffix()
        writer = f"{lineage.sink}-{lineage.subtask:04x}-{secrets.token_hex(4)}"
        whole = ending if ending.endswith(suffix) else ending + suffix
        return PartNames(config.get_part_prefix(), whole, writer)

    def next(self, before: str = "") -> str:
        """The next name; ``before`` comes before the prefix."""
        name = f"{before}{self.prefix}-{self.writer}-{self.number}{self.suffix}"
        self.number += 1
        return name
