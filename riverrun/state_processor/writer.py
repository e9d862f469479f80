"""Write savepoints: new ones from data, and changed ones from those that are there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

import msgspec

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
)
from riverrun.protocol.snapshots import Redistribution, StateKind, StateMeta
from riverrun.serde.evolution import type_to_json
from riverrun.serde.type_info import TypeInformation
from riverrun.state.schema import schema_of
from riverrun.state_processor.bootstrap import BootstrapTransformation
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writing.arguments import (
    check_choice,
    checked_groups,
    descriptor_of,
    location_of,
    opened,
)
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
from riverrun.state_processor.writing.operators import DraftedOperators, keyed_state
from riverrun.storage.open import open_storage

__all__ = ["SavepointWriter"]

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
        self._operators = DraftedOperators(operators, checked_groups(max_parallelism))
        self._head = head
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
        savepoint = opened(path, config)
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
        descriptor = descriptor_of(state, element, map_key, value_type)
        meta = schema_of(descriptor, key_type, namespaced=namespace is not None).meta
        meta = msgspec.structs.replace(meta, ttl=False)
        named = Named(uid, meta.name)
        check_choice(named, meta, element, map_key)
        choice = Choice(key, value, element, map_key, namespace).completed(meta)
        draft = self._operators.for_new_state(uid, meta.name)
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
        self._operators.check_free(uid)
        self._operators.added(uid).bootstrap = transformation
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
        self._operators.removed(uid)
        return self

    def remove_state(self, uid: str, name: str) -> Self:
        """Leave out one state of an operator; positions of sources and committables are such, too."""
        draft = self._operators.find(uid)
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
        draft = self._operators.find(old_uid)
        self._operators.check_free(new_uid)
        self._operators.removed(draft.operator_id)
        self._operators.placed(draft, new_uid)
        return self

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
            draft = self._operators.find(uid).copy()
        else:
            savepoint = opened(from_path, self._config)
            draft = draft_of(savepoint, savepoint.find(uid))
        wanted = new_uid or draft.uid or uid
        self._operators.check_free(wanted)
        self._operators.placed(draft, wanted)
        return self

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
        draft = self._operators.find(uid)
        old = keyed_state(draft, name)
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
        draft = self._operators.find(uid)
        old = keyed_state(draft, name)
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
        groups = checked_groups(max_parallelism)
        drafts = list(self._operators) if uid is None else [self._operators.find(uid)]
        for draft in drafts:
            draft.max_parallelism = groups
            draft.parallelism = min(draft.parallelism, groups)
        if uid is None:
            self._operators.max_parallelism = groups
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
        folder = location_of(path)
        storage = open_storage(folder, self._config)
        Assembly(storage, folder, self._config).write(self._head, list(self._operators))
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
        self._operators.for_new_state(uid, meta.name).lists[meta.name, how] = MadeList(meta, items)
        return self
