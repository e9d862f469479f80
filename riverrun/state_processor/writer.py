"""Write savepoints: new ones from data, and changed ones from those that are there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.graph.operator_ids import id_from_uid
from riverrun.graph.stream_graph import MAX_PARALLELISM_LIMIT
from riverrun.protocol.snapshots import Redistribution, StateKind, StateMeta
from riverrun.serde.evolution import type_to_json
from riverrun.serde.type_info import TypeInformation
from riverrun.state.schema import schema_of
from riverrun.state_processor.bootstrap import BootstrapTransformation
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writing.assembly import Assembly, Head
from riverrun.state_processor.writing.changes import (
    BatchFunction,
    KeyFunction,
    RowFunction,
    by_batches,
    by_rows,
    entries_now,
    rekeyed,
)
from riverrun.state_processor.writing.drafts import (
    KeyedDraft,
    MadeKeyed,
    MadeList,
    OperatorDraft,
    draft_of,
)
from riverrun.state_processor.writing.entries import Named
from riverrun.state_processor.writing.given import Choice, Columns, GivenState
from riverrun.state_processor.writing.keyed_files import StateTarget
from riverrun.state_processor.writing.list_files import check_items
from riverrun.state_processor.writing.meeting import Meeting, Merge
from riverrun.state_processor.writing.refusals import WriteRefused
from riverrun.storage.open import open_storage

__all__ = ["SavepointWriter"]

_PARALLELISM: Final = 4
"""Of new operators: into so many files each of their states goes."""
_GROUPS: Final = 128


class SavepointWriter:
    """Puts a savepoint together; nothing is read or written before ``write``.

    Operators are named by their uid, as in the program that shall go on from the savepoint. Every
    method gives the writer itself. What is given as a state goes by a descriptor of the program, or by
    its name and types.
    """

    def __init__(
        self,
        operators: Iterable[OperatorDraft],
        head: Head,
        max_parallelism: int,
        config: dict[str, str],
    ) -> None:
        """Users call ``new_savepoint`` or ``from_existing_savepoint``."""
        self._operators = {draft.operator_id: draft for draft in operators}
        self._head = head
        self._max_parallelism = _checked(max_parallelism)
        self._config = config

    @classmethod
    def new_savepoint(
        cls, max_parallelism: int = _GROUPS, config: Mapping[str, str] | None = None
    ) -> Self:
        """Begin with nothing.

        Args:
            max_parallelism: that of all operators with keyed state; the program must have the same.
            config: options of the store, such as those below ``s3.``, and of the backend that
                bootstrap functions use (``state.backend.type``).
        """
        head = Head(1, secrets.token_hex(16), "written by the state processor")
        return cls((), head, max_parallelism, dict(config or {}))

    @classmethod
    def from_existing_savepoint(
        cls, path: str | os.PathLike[str] | Savepoint, config: Mapping[str, str] | None = None
    ) -> Self:
        """Begin with all that a savepoint or checkpoint holds, which itself is never changed.

        Raises:
            StorageError: there is none, or it is damaged.
            WriteRefused: it holds records that were on their way between tasks.
        """
        savepoint = _opened(path, config)
        drafts = [draft_of(savepoint, saved) for saved in savepoint.saved.values()]
        keyed = [draft.max_parallelism for draft in drafts if draft.keyed]
        metadata = savepoint.checkpoint.metadata
        head = Head(metadata.checkpoint, metadata.job, metadata.job_name)
        groups = max(keyed, default=_GROUPS)
        return cls(drafts, head, groups, {**savepoint.config, **(config or {})})

    def with_keyed_state(  # noqa: PLR0913  (columns and types, each by its name)
        self,
        uid: str,
        state: StateDescriptor | str,
        data: Any,
        *,
        key: Columns = "key",
        value: Columns | None = None,
        element: Columns | None = None,
        map_key: Columns | None = None,
        namespace: Columns | None = None,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> Self:
        """Add a keyed state, made of a table or of pairs of key and value.

        A table is Arrow's table, reader or batches, or a DataFrame of pandas, polars or Spark. Several
        columns make a tuple, or what else with fields the type says. Of reducing and aggregating state the
        value is the accumulator.

        Args:
            uid: of the operator, which is added if it is not there.
            state: the descriptor that the program uses; or a name, of a map state if there is a
                ``map_key``, of a list state if there is an ``element``, else of a value state.
            data: the table, or an iterable of pairs; then the value of list state is a list and that
                of map state a dict.
            key: column of the key.
            value: column of the value; of list state of the list; of map state of the dict, or with
                ``map_key`` of the value of one entry. If not given, what a savepoint calls it.
            element: of list state: column of one element; a key has as many rows as its list elements.
            map_key: of map state: column of the key of one entry.
            namespace: column of the namespace, or of its parts: ``("start", "end")`` of a window.
            key_type: the type that the program has for keys, if it has any.
            value_type: with a name: the type of values, elements or values of the map.

        Raises:
            WriteRefused: the operator has such a state, or the arguments contradict each other.
        """
        descriptor = _descriptor(state, element, map_key, value_type)
        meta = schema_of(descriptor, key_type, namespaced=namespace is not None).meta
        meta = msgspec.structs.replace(meta, ttl=False)
        named = Named(uid, meta.name)
        _check_choice(named, meta, element, map_key)
        choice = Choice(key, value, element, map_key, namespace).completed(meta)
        draft = self._for_new_state(uid, meta.name)
        target = StateTarget(named, meta, Meeting(), choice.labels(meta))
        draft.keyed[meta.name] = MadeKeyed(target, GivenState(named, meta, data, choice))
        return self

    def with_operator(self, uid: str, transformation: BootstrapTransformation) -> Self:
        """Add an operator whose state a function makes: ``bootstrap(data).key_by(...).transform(...)``.

        Raises:
            WriteRefused: the operator is there already.
        """
        if not isinstance(transformation, BootstrapTransformation):
            raise TypeError(
                f"operator {uid!r}: its bootstrap is {transformation!r}; expected what "
                f"bootstrap(data).transform(...) or bootstrap(data).key_by(...).transform(...) gives"
            )
        self._check_free(uid)
        self._added(uid).bootstrap = transformation
        return self

    def with_list_state(
        self,
        uid: str,
        state: ListStateDescriptor | str,
        items: Iterable[Any],
        element_type: TypeInformation | None = None,
    ) -> Self:
        """Add a list of the operator whose elements are dealt out to its subtasks."""
        return self._with_items(uid, state, items, element_type, Redistribution.SPLIT)

    def with_union_state(
        self,
        uid: str,
        state: ListStateDescriptor | str,
        items: Iterable[Any],
        element_type: TypeInformation | None = None,
    ) -> Self:
        """Add a list of the operator of which every subtask gets all elements."""
        return self._with_items(uid, state, items, element_type, Redistribution.UNION)

    def with_broadcast_state(
        self,
        uid: str,
        state: MapStateDescriptor | str,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> Self:
        """Add a broadcast state of the operator."""
        if isinstance(state, str):
            state = MapStateDescriptor(state, key_type, value_type)
        types = {role: type_to_json(each) for role, each in state.types().items()}
        meta = StateMeta(state.name, StateKind.BROADCAST, types)
        return self._with_list(uid, meta, list(dict(items).items()), Redistribution.BROADCAST)

    def remove_operator(self, uid: str) -> Self:
        """Leave out an operator with all its state.

        Raises:
            NotInSavepoint: it is not there.
        """
        del self._operators[self._find(uid).operator_id]
        return self

    def remove_state(self, uid: str, name: str) -> Self:
        """Leave out one state of an operator; positions of sources and committables are such, too."""
        draft = self._find(uid)
        if name not in draft.keyed and name not in draft.list_names():
            known = (*draft.keyed, *sorted(draft.list_names()))
            raise NotInSavepoint(f"operator {draft.label!r}", "state", name, known)
        draft.keyed.pop(name, None)
        draft.lists = {state: each for state, each in draft.lists.items() if state[0] != name}
        return self

    def change_operator_identifier(self, old_uid: str, new_uid: str) -> Self:
        """Give an operator another uid, or its first one.

        Raises:
            NotInSavepoint: it is not there.
            WriteRefused: another operator has the new one.
        """
        draft = self._find(old_uid)
        self._check_free(new_uid)
        draft = self._operators.pop(draft.operator_id)
        return self._place(draft, new_uid)

    def copy_operator(
        self,
        from_path: str | os.PathLike[str] | Savepoint | None,
        uid: str,
        new_uid: str | None = None,
    ) -> Self:
        """Add an operator of another savepoint, or of this one, with all its state.

        Args:
            from_path: the other savepoint or checkpoint; None for the one that is being written.
            uid: of the operator there.
            new_uid: what it is called here; the same if not given.
        """
        if from_path is None:
            draft = self._find(uid).copy()
        else:
            savepoint = _opened(from_path, self._config)
            draft = draft_of(savepoint, savepoint.find(uid))
        wanted = new_uid or draft.uid or uid
        self._check_free(wanted)
        return self._place(draft, wanted)

    def transform_keyed_state(
        self,
        uid: str,
        name: str,
        function: RowFunction | BatchFunction,
        *,
        batches: bool = False,
        value_type: TypeInformation | None = None,
    ) -> Self:
        """Change or filter the entries of a keyed state; keys stay what they are.

        Args:
            uid: of the operator.
            name: of the state.
            function: takes a ``StateRow`` and gives one, or None to leave it out; of map state a row is
                one entry of a map. With ``batches`` it takes and gives Arrow record batches with the
                columns of a savepoint's files.
            batches: which of both the function is.
            value_type: the new type of the values, where it changes.
        """
        draft = self._find(uid)
        old = self._keyed(draft, name)
        meta, named = old.meta, Named(draft.label, name)
        if value_type is not None:
            types = {**meta.types, "value": type_to_json(value_type)}
            meta = msgspec.structs.replace(meta, types=types)
        change: Any = by_batches if batches else by_rows
        source = change(entries_now(old), function, old.meta, meta, named)
        rule = Meeting(advice="keep the keys of its maps apart")
        draft.keyed[name] = MadeKeyed(StateTarget(named, meta, rule), source)
        return self

    def rekey(
        self,
        uid: str,
        name: str,
        new_key: KeyFunction,
        merge: Merge | None = None,
        *,
        key_type: TypeInformation | None = None,
    ) -> Self:
        """Give the entries of a keyed state to other keys.

        Args:
            uid: of the operator.
            name: of the state; other states of the operator, and its timers, keep their keys.
            new_key: called with the key and the value (the list, the dict) gives the new key.
            merge: makes one value (list, dict) of two whose keys become the same; without it they are
                refused.
            key_type: the type of the new keys, if the program has any.
        """
        draft = self._find(uid)
        old = self._keyed(draft, name)
        types = {role: text for role, text in old.meta.types.items() if role != "key"}
        if key_type is not None:
            types["key"] = type_to_json(key_type)
        meta = msgspec.structs.replace(old.meta, types=types)
        rule = Meeting(
            merge=merge, advice="give rekey a function merge(a, b) that makes one of both"
        )
        target = StateTarget(Named(draft.label, name), meta, rule)
        draft.keyed[name] = MadeKeyed(target, rekeyed(entries_now(old), new_key, old.meta))
        return self

    def change_max_parallelism(self, max_parallelism: int, uid: str | None = None) -> Self:
        """Count the key groups anew: of one operator, or of all, also of those that come later.

        All its keyed state is written again. It is the only way to change the max parallelism of an
        operator that has keyed state.
        """
        groups = _checked(max_parallelism)
        drafts = self._operators.values() if uid is None else [self._find(uid)]
        for draft in drafts:
            draft.max_parallelism = groups
            draft.parallelism = min(draft.parallelism, groups)
        if uid is None:
            self._max_parallelism = groups
        return self

    def write(self, path: str | os.PathLike[str]) -> str:
        """Write the savepoint; after an error there is none.

        Args:
            path: its folder, which must be empty or not there; a local path, or a location such as
                ``s3://bucket/folder``.

        Returns:
            The location, as ``river run --fromSavepoint`` takes it.

        Raises:
            WriteRefused: something is in the folder.
            RowRefused: a row cannot be an entry of its state.
            DuplicateKey: two rows have one key.
            StorageError: the store did not do what it was asked for.
        """
        folder = _location(path)
        storage = open_storage(folder, self._config)
        Assembly(storage, folder, self._config).write(self._head, list(self._operators.values()))
        return folder

    def _with_items(
        self,
        uid: str,
        state: ListStateDescriptor | str,
        items: Iterable[Any],
        element_type: TypeInformation | None,
        how: Redistribution,
    ) -> Self:
        if isinstance(state, str):
            state = ListStateDescriptor(state, element_type)
        types = {role: type_to_json(each) for role, each in state.types().items()}
        return self._with_list(uid, StateMeta(state.name, StateKind.LIST, types), list(items), how)

    def _with_list(self, uid: str, meta: StateMeta, items: list[Any], how: Redistribution) -> Self:
        check_items(uid, meta, items)
        self._for_new_state(uid, meta.name).lists[meta.name, how] = MadeList(meta, items)
        return self

    def _for_new_state(self, uid: str, name: str) -> OperatorDraft:
        """The operator, which is added if need be."""
        draft = self._named(uid)
        if draft is None:
            return self._added(uid)
        if draft.bootstrap is not None:
            raise WriteRefused(
                f"operator {uid!r}: its state is made by a bootstrap function; let that make the state "
                f"{name!r}, too"
            )
        if name in draft.keyed or name in draft.list_names():
            raise WriteRefused(
                f"operator {uid!r}: it has a state {name!r} already; take remove_state({uid!r}, {name!r}) "
                f"first to replace it, or transform_keyed_state to change it"
            )
        return draft

    def _added(self, uid: str) -> OperatorDraft:
        parallelism = min(_PARALLELISM, self._max_parallelism)
        draft = OperatorDraft(id_from_uid(uid), uid, uid, parallelism, self._max_parallelism)
        self._operators[draft.operator_id] = draft
        return draft

    def _place(self, draft: OperatorDraft, uid: str) -> Self:
        draft.uid, draft.operator_id = uid, id_from_uid(uid)
        self._operators[draft.operator_id] = draft
        return self

    def _check_free(self, uid: str) -> None:
        if id_from_uid(uid) in self._operators:
            raise WriteRefused(
                f"operator {uid!r}: it is in the savepoint already; remove_operator({uid!r}) first, or take "
                f"another uid"
            )

    def _named(self, uid: str) -> OperatorDraft | None:
        found = self._operators.get(id_from_uid(uid)) or self._operators.get(uid)
        if found is not None:
            return found
        same = [
            draft for draft in self._operators.values() if draft.uid is None and draft.name == uid
        ]
        return same[0] if len(same) == 1 else None

    def _find(self, uid: str) -> OperatorDraft:
        found = self._named(uid)
        if found is None:
            known = tuple(draft.label for draft in self._operators.values())
            raise NotInSavepoint("the savepoint to be written", "operator", uid, known)
        return found

    def _keyed(self, draft: OperatorDraft, name: str) -> KeyedDraft:
        if name not in draft.keyed:
            place = f"operator {draft.label!r}"
            raise NotInSavepoint(place, "keyed state", name, tuple(draft.keyed))
        return draft.keyed[name]


def _opened(
    path: str | os.PathLike[str] | Savepoint, config: Mapping[str, str] | None
) -> Savepoint:
    savepoint = path if isinstance(path, Savepoint) else Savepoint.read(path, config)
    metadata = savepoint.checkpoint.metadata
    if any(subtask.channels for subtask in metadata.subtasks):
        raise WriteRefused(
            f"{savepoint.describe()}: it is an unaligned checkpoint and holds records that were on their "
            f"way between tasks, which belong to the program as it was; take a savepoint instead"
        )
    return savepoint


def _location(path: str | os.PathLike[str]) -> str:
    given = os.fspath(path)
    return given.rstrip("/") if "://" in given else str(Path(given).absolute())


def _checked(max_parallelism: int) -> int:
    if not 1 <= max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise WriteRefused(
            f"max parallelism {max_parallelism!r}: expected a number from 1 to {MAX_PARALLELISM_LIMIT}"
        )
    return max_parallelism


def _descriptor(
    state: StateDescriptor | str,
    element: Columns | None,
    map_key: Columns | None,
    value_type: TypeInformation | None,
) -> StateDescriptor:
    if isinstance(state, StateDescriptor):
        if value_type is not None:
            raise WriteRefused(
                f"state {state.name!r}: its type is {state.value_type_info!r} by the descriptor and "
                f"{value_type!r} by value_type; give one of both"
            )
        return state
    if map_key is not None:
        return MapStateDescriptor(state, None, value_type)
    if element is not None:
        return ListStateDescriptor(state, value_type)
    return ValueStateDescriptor(state, value_type)


def _check_choice(
    named: Named, meta: StateMeta, element: Columns | None, map_key: Columns | None
) -> None:
    for name, given, kind in (
        ("element", element, StateKind.LIST),
        ("map_key", map_key, StateKind.MAP),
    ):
        if given is not None and meta.kind is not kind:
            raise WriteRefused(
                f"{named}: it is {meta.kind.value} state, and {name}={given!r} is for {kind.value} state; "
                f"leave it out"
            )
