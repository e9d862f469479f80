"""Slot sharing groups: operators of different groups never share a slot; a group may ask for resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["MemorySize", "SlotSharingGroup"]

_KIBI: Final = 1 << 10
_MEBI: Final = 1 << 20
_GIBI: Final = 1 << 30
_TEBI: Final = 1 << 40


@dataclass(frozen=True, slots=True, order=True)
class MemorySize:
    """An amount of memory.

    >>> MemorySize.of_mebi_bytes(2).get_kibi_bytes()
    2048
    """

    bytes_size: int

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """``mebi_bytes`` times 1,048,576 bytes."""
        return MemorySize(mebi_bytes * _MEBI)

    def get_bytes(self) -> int:
        """The amount in bytes."""
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        """The amount in kibibytes, rounded down."""
        return self.bytes_size // _KIBI

    def get_mebi_bytes(self) -> int:
        """The amount in mebibytes, rounded down."""
        return self.bytes_size // _MEBI

    def get_gibi_bytes(self) -> int:
        """The amount in gibibytes, rounded down."""
        return self.bytes_size // _GIBI

    def get_tebi_bytes(self) -> int:
        """The amount in tebibytes, rounded down."""
        return self.bytes_size // _TEBI


@dataclass(frozen=True, slots=True)
class SlotSharingGroup:
    """A named group and the resources that a slot for it should have."""

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: tuple[tuple[str, float], ...] = ()

    def get_name(self) -> str:
        """The group's name."""
        return self.name

    def get_cpu_cores(self) -> float | None:
        """The processor cores that a slot should have."""
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """The heap memory that a slot should have."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """The memory outside of the heap that a slot should have."""
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """The memory for state that a slot should have."""
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Other resources that a slot should have, by name."""
        return dict(self.external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Begin a group called ``name``."""
        return SlotSharingGroup.Builder(name)

    @dataclass(slots=True)
    class Builder:
        """A group in the making."""

        _name: str
        _cpu_cores: float | None = None
        _task_heap_memory: MemorySize | None = None
        _task_off_heap_memory: MemorySize | None = None
        _managed_memory: MemorySize | None = None
        _external_resources: dict[str, float] = field(default_factory=dict)

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Ask for processor cores."""
            if cpu_cores <= 0:
                raise ValueError(
                    f"slot sharing group {self._name!r}: {cpu_cores} cpu cores; expected more than 0"
                )
            self._cpu_cores = cpu_cores
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Ask for heap memory."""
            self._task_heap_memory = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Ask for heap memory in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Ask for memory outside of the heap."""
            self._task_off_heap_memory = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Ask for memory outside of the heap in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Ask for memory for state."""
            self._managed_memory = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Ask for memory for state in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Ask for ``value`` of another resource."""
            self._external_resources[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """The group."""
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                self._task_heap_memory,
                self._task_off_heap_memory,
                self._managed_memory,
                tuple(sorted(self._external_resources.items())),
            )
