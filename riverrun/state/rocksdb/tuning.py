"""RocksDB's options: what the memory plan demands, and the predefined sets by their Flink names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DataBlockIndexType,
    DBCompactionStyle,
    DBCompressionType,
    Options,
    UniversalCompactOptions,
    WriteBufferManager,
)

from riverrun.core.errors import ConfigError
from riverrun.state.rocksdb.memory import MemoryPlan

PREDEFINED_OPTIONS: Final = "state.backend.rocksdb.predefined-options"
_KB: Final = 1 << 10
_MB: Final = 1 << 20


def database_options(plan: MemoryPlan, predefined: str) -> Options:
    """Options for the live database of a backend.

    Raises:
        ConfigError: ``predefined`` is not the name of a set.
    """
    tune = _PREDEFINED.get(predefined.upper())
    if tune is None:
        raise ConfigError(
            f"option {PREDEFINED_OPTIONS!r} is {predefined!r}; expected one of {', '.join(_PREDEFINED)}"
        )
    options = _bounded_options(plan)
    tune(options, plan)
    return options


def reading_options() -> Options:
    """Options for a database that is read through once and never written."""
    return _bounded_options(MemoryPlan.of(8 * _MB))


def _bounded_options(plan: MemoryPlan) -> Options:
    """Options under which RocksDB keeps to the plan."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003
    options.set_compression_type(DBCompressionType.lz4())
    cache = Cache(plan.blocks)
    buffers = WriteBufferManager.new_write_buffer_manager_with_cache(
        plan.write_buffers,
        False,  # noqa: FBT003 - no stalls: a full buffer is flushed, the writer goes on
        cache,
    )
    options.set_write_buffer_manager(buffers)
    options.set_write_buffer_size(max(plan.write_buffers // 2, 64 * _KB))
    options.set_max_write_buffer_number(3)
    tables = BlockBasedOptions()
    tables.set_block_cache(cache)
    tables.set_cache_index_and_filter_blocks(True)
    tables.set_pin_l0_filter_and_index_blocks_in_cache(True)
    tables.set_bloom_filter(10, False)  # noqa: FBT003
    tables.set_block_size(4 * _KB)
    # Nearly all reads are of one row: a hash finds it in its block.
    tables.set_data_block_index_type(DataBlockIndexType.binary_and_hash())
    tables.set_data_block_hash_ratio(0.75)
    # Index and filter in pieces: the cache has many shards, and as a whole they would fit into none,
    # so that every read would get them from the file.
    tables.set_index_type(BlockBasedIndexType.two_level_index_search())
    tables.set_partition_filters(True)
    tables.set_metadata_block_size(min(max(plan.blocks >> 13, 4 * _KB), 32 * _KB))
    tables.set_pin_top_level_index_and_filter(True)
    tables.set_format_version(5)
    options.set_block_based_table_factory(tables)
    # What follows is memory and disk that no budget of RocksDB counts.
    options.set_target_file_size_base(min(max(plan.blocks // 4, 2 * _MB), 64 * _MB))
    options.set_compaction_readahead_size(256 * _KB)
    options.set_writable_file_max_buffer_size(256 * _KB)
    options.set_manifest_preallocation_size(64 * _KB)
    options.set_keep_log_file_num(1)
    options.set_max_log_file_size(_MB)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    return options


def _default(options: Options, _plan: MemoryPlan) -> None:
    """Sorted runs that are merged with runs of their own size.

    A level would be written anew when a few per cent of its keys changed, and every new file is
    uploaded by the next checkpoint; merging equals keeps what a checkpoint uploads near what changed.
    """
    options.set_compaction_style(DBCompactionStyle.universal())
    runs = UniversalCompactOptions()
    runs.max_size_amplification_percent = 100
    runs.size_ratio = 10
    options.set_universal_compaction_options(runs)
    options.set_level_zero_file_num_compaction_trigger(8)


def _levels(options: Options) -> None:
    options.set_compaction_style(DBCompactionStyle.level())
    options.set_level_compaction_dynamic_level_bytes(True)


def _spinning_disk(options: Options, _plan: MemoryPlan) -> None:
    _levels(options)
    options.set_max_file_opening_threads(1)


def _spinning_disk_high_memory(options: Options, plan: MemoryPlan) -> None:
    _spinning_disk(options, plan)
    options.set_target_file_size_base(256 * _MB)
    options.set_max_bytes_for_level_base(_KB * _MB)


def _flash(options: Options, _plan: MemoryPlan) -> None:
    _levels(options)
    options.set_max_background_jobs(4)


_PREDEFINED: Final[Mapping[str, Callable[[Options, MemoryPlan], None]]] = {
    "DEFAULT": _default,
    "SPINNING_DISK_OPTIMIZED": _spinning_disk,
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": _spinning_disk_high_memory,
    "FLASH_SSD_OPTIMIZED": _flash,
}
