"""Slot sharing groups and amounts of memory."""

from riverrun.datastream.slot_sharing_group import MemorySize, SlotSharingGroup


def test_a_group_holds_what_its_builder_was_told() -> None:
    group = (
        SlotSharingGroup.builder("big")
        .set_cpu_cores(1.5)
        .set_task_heap_memory_mb(100)
        .set_task_off_heap_memory_mb(200)
        .set_managed_memory(MemorySize(1 << 30))
        .set_external_resource("gpu", 1.0)
        .build()
    )

    assert group.get_name() == "big"
    assert group.get_cpu_cores() == 1.5
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(200)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(1024)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert {group} == {group}


def test_amounts_of_memory_compare_and_convert() -> None:
    size = MemorySize.of_mebi_bytes(2048)

    assert MemorySize(5) < size
    assert (size.get_bytes(), size.get_kibi_bytes()) == (2 << 30, 2 << 20)
    assert (size.get_mebi_bytes(), size.get_gibi_bytes(), size.get_tebi_bytes()) == (2048, 2, 0)
