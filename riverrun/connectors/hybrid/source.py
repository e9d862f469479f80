"""A source made of sources: bounded ones in turn, then the last, which may go on for ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from riverrun.api.source import Boundedness, Source, SourceReader, SourceReaderContext
from riverrun.api.split_enumerator import SplitEnumerator, SplitEnumeratorContext
from riverrun.api.unusable import refuse_unusable
from riverrun.connectors.hybrid.enumerator import HybridEnumerator
from riverrun.connectors.hybrid.reader import HybridReader
from riverrun.core.errors import ProgramError
from riverrun.serde.type_info import TypeInformation

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source[Any]):
    """Reads its sources one after the other; made by ``HybridSource.builder(first)``.

    A source begins when all subtasks have read the one before to its end. Which one it is, and how far it
    is read, is part of each checkpoint.
    """

    discovers_splits: ClassVar[bool] = True

    def __init__(self, sources: Sequence[Source[Any]]) -> None:
        self.sources = tuple(sources)
        # Whether runs are columns is a matter of what is inside.
        self.gives_columns = all(each.gives_columns for each in sources)  # type: ignore[misc]

    @staticmethod
    def builder(first_source: Source[Any]) -> HybridSourceBuilder:
        """What makes a source that begins with ``first_source``."""
        return HybridSourceBuilder(first_source)

    def create_enumerator(self, context: SplitEnumeratorContext) -> SplitEnumerator[Any]:
        return HybridEnumerator(self.sources, context)

    def restore_enumerator(
        self, context: SplitEnumeratorContext, state: Any
    ) -> SplitEnumerator[Any]:
        if state.source >= len(self.sources):
            raise ProgramError(
                f"hybrid source: goes on with source {state.source + 1} of what has now "
                f"{len(self.sources)}; expected at least as many as when the checkpoint was taken"
            )
        return HybridEnumerator(self.sources, context, state)

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return HybridReader(self.sources, splits, context, columns=self.gives_columns)

    def get_boundedness(self) -> Boundedness:
        return self.sources[-1].get_boundedness()

    def get_produced_type(self) -> TypeInformation | None:
        types = [each.get_produced_type() for each in self.sources]
        return types[0] if all(each == types[0] for each in types) else None

    def get_forced_parallelism(self) -> int | None:
        forced = [each.get_forced_parallelism() for each in self.sources]
        return min((each for each in forced if each is not None), default=None)


class HybridSourceBuilder:
    """Collects the sources, in the order in which they are read."""

    def __init__(self, first_source: Source[Any]) -> None:
        self._sources = [_checked("builder", first_source)]

    def add_source(self, source: Source[Any]) -> HybridSourceBuilder:
        """Read ``source`` after those before, which must all end by themselves."""
        last = self._sources[-1]
        if last.get_boundedness() is not Boundedness.BOUNDED:
            raise ProgramError(
                f"hybrid source: source {len(self._sources)}, a {type(last).__name__}, has no end; "
                f"expected that only the last one goes on for ever"
            )
        self._sources.append(_checked("add_source", source))
        return self

    def build(self) -> HybridSource:
        """The source."""
        return HybridSource(self._sources)


def _checked(method: str, source: Any) -> Source[Any]:
    if not isinstance(source, Source):
        raise TypeError(f"hybrid source: {method} got {source!r}; expected a Source")
    refuse_unusable(f"HybridSource.{method}", source)
    return source
