"""What a keyed stream refuses, because it is a view of an exchange and not an operator."""

from __future__ import annotations

from typing import Any, NoReturn

from riverrun.core.errors import ProgramError
from riverrun.datastream.slot_sharing_group import SlotSharingGroup


class KeyedRefusals:
    """The methods of a stream that make no sense between ``key_by`` and the next operator."""

    def shuffle(self) -> NoReturn:
        """Refuse: records go where their key belongs."""
        _refuse_partitioning("shuffle")

    def rebalance(self) -> NoReturn:
        """Refuse: records go where their key belongs."""
        _refuse_partitioning("rebalance")

    def rescale(self) -> NoReturn:
        """Refuse: records go where their key belongs."""
        _refuse_partitioning("rescale")

    def forward(self) -> NoReturn:
        """Refuse: records go where their key belongs."""
        _refuse_partitioning("forward")

    def broadcast(self, *broadcast_state_descriptors: Any) -> NoReturn:
        """Refuse: records go where their key belongs."""
        del broadcast_state_descriptors
        _refuse_partitioning("broadcast")

    def global_(self) -> NoReturn:
        """Refuse: records go where their key belongs."""
        _refuse_partitioning("global")

    def partition_custom(self, partitioner: Any, key_selector: Any) -> NoReturn:
        """Refuse: records go where their key belongs."""
        del partitioner, key_selector
        _refuse_partitioning("partition_custom")

    def cache(self) -> NoReturn:
        """Refuse: there is no operator whose records could be kept."""
        _refuse_setting("cache")

    def name(self, name: str) -> NoReturn:
        """Refuse: there is no operator to name."""
        del name
        _refuse_setting("name")

    def get_name(self) -> NoReturn:
        """Refuse: there is no operator that has a name."""
        _refuse_setting("get_name")

    def uid(self, uid: str) -> NoReturn:
        """Refuse: there is no operator."""
        del uid
        _refuse_setting("uid")

    def set_uid_hash(self, uid_hash: str) -> NoReturn:
        """Refuse: there is no operator."""
        del uid_hash
        _refuse_setting("set_uid_hash")

    def set_parallelism(self, parallelism: int) -> NoReturn:
        """Refuse: there is no operator."""
        del parallelism
        _refuse_setting("set_parallelism")

    def set_max_parallelism(self, max_parallelism: int) -> NoReturn:
        """Refuse: there is no operator."""
        del max_parallelism
        _refuse_setting("set_max_parallelism")

    def force_non_parallel(self) -> NoReturn:
        """Refuse: there is no operator."""
        _refuse_setting("force_non_parallel")

    def set_buffer_timeout(self, timeout_millis: int) -> NoReturn:
        """Refuse: there is no operator."""
        del timeout_millis
        _refuse_setting("set_buffer_timeout")

    def set_description(self, description: str) -> NoReturn:
        """Refuse: there is no operator."""
        del description
        _refuse_setting("set_description")

    def start_new_chain(self) -> NoReturn:
        """Refuse: there is no operator."""
        _refuse_setting("start_new_chain")

    def disable_chaining(self) -> NoReturn:
        """Refuse: there is no operator."""
        _refuse_setting("disable_chaining")

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> NoReturn:
        """Refuse: there is no operator."""
        del slot_sharing_group
        _refuse_setting("slot_sharing_group")


def _refuse_partitioning(method: str) -> NoReturn:
    raise ProgramError(
        f"{method}: a keyed stream is partitioned by its key, which cannot be overridden; "
        f"call {method}() before key_by() or after the next operator"
    )


def _refuse_setting(method: str) -> NoReturn:
    raise ProgramError(
        f"{method}: not supported on a keyed stream, which is not an operator; "
        f"call {method}() before key_by() or on the next operator"
    )
