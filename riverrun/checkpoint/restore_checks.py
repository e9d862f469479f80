"""Whether a program can take over what a checkpoint holds, as far as that shows before anything runs.

What functions ask for when they are opened is not known here: their states are checked by the task that
opens them (``riverrun.state.migration``), before its first record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.operator_shapes import check_shape
from riverrun.checkpoint.saved_operators import RestoreRefused, SavedOperator
from riverrun.graph.deployment import ChainedOperator
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.specs import BroadcastProcessSpec, KeyedBroadcastProcessSpec
from riverrun.protocol.snapshots import FORMAT_VERSION, Redistribution, StateKind, StateMeta
from riverrun.serde.evolution import AfterMigration, Incompatible, resolve, type_from_json
from riverrun.state.backend import StateRefused
from riverrun.state.migration import plan_migration
from riverrun.state.schema import StateSchema, schema_from, schema_of


def check_format(metadata: CheckpointMetadata) -> None:
    """Refuse a format that this release does not know."""
    if not 1 <= metadata.format_version <= FORMAT_VERSION:
        raise RestoreRefused(
            f"checkpoint {metadata.checkpoint} of job {metadata.job_name!r}: has format "
            f"{metadata.format_version}, written by riverrun {metadata.riverrun_version!r}; this "
            f"riverrun reads formats 1 to {FORMAT_VERSION}: restore it with the version that wrote it, "
            f"or a newer one"
        )


def check_program(
    metadata: CheckpointMetadata,
    saved: Mapping[str, SavedOperator],
    graph: JobGraph,
    *,
    allow_non_restored: bool,
) -> None:
    """Refuse a program whose operators are not those that the state belongs to.

    Raises:
        RestoreRefused: state would be lost, would go to another operator than it came from, or does
            not fit what its operator is now.
    """
    now = {each.operator_id: each for vertex in graph.vertices for each in vertex.operators}
    with_state = [each for each in saved.values() if each.has_state]
    _Places(metadata, saved, now).check(with_state, allow_non_restored=allow_non_restored)
    for each in with_state:
        operator = now.get(each.operator_id)
        if operator is not None:
            _check_keys(operator, each)
            _check_broadcast(operator, each)
            check_shape(operator, each)


class _Places:
    """Which operator of the program stands where one of the checkpoint stood."""

    def __init__(
        self,
        metadata: CheckpointMetadata,
        saved: Mapping[str, SavedOperator],
        now: Mapping[str, ChainedOperator],
    ) -> None:
        self._who = f"checkpoint {metadata.checkpoint} of job {metadata.job_name!r}"
        self._saved = saved
        self._now = now

    def check(self, with_state: list[SavedOperator], *, allow_non_restored: bool) -> None:
        for each in with_state:
            self._check_not_moved(each)
        orphans = [each for each in with_state if each.operator_id not in self._now]
        if orphans and not allow_non_restored:
            raise RestoreRefused(
                f"{self._who}: holds state of {', '.join(each.describe() for each in orphans)}, which "
                f"the program does not have; {'; '.join(map(self._way_out, orphans))}; or leave the "
                f"state out with --allowNonRestoredState"
            )

    def _check_not_moved(self, was: SavedOperator) -> None:
        """Two operators without uids change places when one is put in before them, and nobody notices."""
        operator = self._now.get(was.operator_id)
        if operator is None or was.uid is not None or operator.uid is not None:
            return
        successor = self._successor(was)
        if operator.name != was.name and successor is not None and successor.uid is None:
            raise RestoreRefused(
                f"{self._who}: holds state of {was.describe()}, and the program has operator "
                f"{operator.name!r} in its place: {_BY_PLACE}; call set_uid_hash({was.operator_id!r}) on "
                f"operator {successor.name!r} and uid(...) on operator {operator.name!r}"
            )

    def _way_out(self, orphan: SavedOperator) -> str:
        successor = self._successor(orphan)
        target = "the operator that shall take it over"
        if successor is not None:
            has = "no uid" if successor.uid is None else f"uid {successor.uid!r}"
            target = f"operator {successor.name!r}, which has {has} now"
        if orphan.uid is not None:
            return f"call uid({orphan.uid!r}) on {target}"
        return f"{_BY_PLACE}: call set_uid_hash({orphan.operator_id!r}) on {target}"

    def _successor(self, was: SavedOperator) -> ChainedOperator | None:
        """The one operator of the same name that has no state of its own to take over."""
        found = [
            each
            for each in self._now.values()
            if each.name == was.name and each.operator_id != was.operator_id and self._is_free(each)
        ]
        return found[0] if len(found) == 1 else None

    def _is_free(self, operator: ChainedOperator) -> bool:
        saved = self._saved.get(operator.operator_id)
        return saved is None or not saved.has_state or saved.name != operator.name


_BY_PLACE = "an operator without a uid is found by its place in the program, and that has changed"


def _check_keys(operator: ChainedOperator, saved: SavedOperator) -> None:
    states = [meta for keyed in saved.keyed if keyed.parts for meta in keyed.states]
    if states and operator.key_selector is None:
        own = [meta for meta in states if meta.kind is not StateKind.TIMERS] or states
        names = ", ".join(sorted({repr(meta.name) for meta in own}))
        raise RestoreRefused(
            f"{_described(operator)}: the checkpoint holds keyed state of it ({names}), and in the program "
            f"its stream has no key; put key_by before it as it was, or give it another uid and leave "
            f"the state out with --allowNonRestoredState"
        )
    for meta in states:
        _check_key_type(operator, meta)


def _check_key_type(operator: ChainedOperator, meta: StateMeta) -> None:
    written = meta.types.get("key")
    if written is None:
        return
    was = type_from_json(written)
    found = resolve(was, operator.key_type)
    match found:
        case Incompatible(reason=reason):
            why = reason
        case AfterMigration(equal=False):
            why = "they would not stay equal"
        case _:
            return
    raise RestoreRefused(
        f"{_described(operator)}: its keyed state {meta.name!r} was saved with keys of type {was!r}, and "
        f"in the program its keys are {operator.key_type!r}: {why}; key the stream by what it was keyed "
        f"by, or give the operator another uid to begin anew"
    )


def _check_broadcast(operator: ChainedOperator, saved: SavedOperator) -> None:
    for wanted in _broadcast_schemas(operator):
        for (name, how), parts in saved.lists.items():
            if name != wanted.meta.name:
                continue
            if how is not Redistribution.BROADCAST:
                raise RestoreRefused(
                    f"{_described(operator)}: operator state {name!r} was saved as {how.value} state and "
                    f"is asked for as broadcast state; ask for it as it was, or give the new state "
                    f"another name"
                )
            for meta in {repr(part.meta): part.meta for _, part in parts}.values():
                try:
                    plan_migration(schema_from(meta), wanted, operator.name, now=0)
                except StateRefused as error:
                    raise RestoreRefused(str(error)) from error


def _broadcast_schemas(operator: ChainedOperator) -> Iterator[StateSchema]:
    """The broadcast states that the operator will ask for."""
    if not isinstance(operator.spec, BroadcastProcessSpec | KeyedBroadcastProcessSpec):
        return
    for descriptor in operator.spec.descriptors:
        schema = schema_of(descriptor, None, namespaced=False)
        meta = StateMeta(descriptor.name, StateKind.BROADCAST, schema.meta.types)
        yield StateSchema(meta, None, schema.value, schema.map_key)


def _described(operator: ChainedOperator) -> str:
    return f"operator {operator.name!r} (uid {operator.uid!r})"
