"""State backends and checkpoint storage by object are settings by key."""

import logging

import pytest

from riverrun.core import options
from riverrun.core.configuration import Configuration
from riverrun.core.option_registry import check_config
from riverrun.core.options import CheckpointingMode
from riverrun.core.time import Duration
from riverrun.datastream.checkpoint_config import CheckpointConfig
from riverrun.datastream.checkpoint_storage import (
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
)


def test_state_is_in_memory_unless_the_program_says_otherwise(
    env: StreamExecutionEnvironment,
) -> None:
    assert isinstance(env.get_state_backend(), HashMapStateBackend)
    assert str(env.get_state_backend()) == "HashMapStateBackend"


def test_a_state_backend_is_read_back_from_the_settings(env: StreamExecutionEnvironment) -> None:
    backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
    backend.set_db_storage_paths("/data/state")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_number_of_transfer_threads(2)

    env.set_state_backend(backend)

    check_config(env.get_configuration())
    found = env.get_state_backend()
    assert isinstance(found, EmbeddedRocksDBStateBackend)
    assert found.is_incremental_checkpoints_enabled()
    assert found.get_db_storage_paths() == ["/data/state"]
    assert found.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert found.get_number_of_transfer_threads() == 2
    assert str(found) == "EmbeddedRocksDBStateBackend, incremental: True"
    assert isinstance(
        env.set_state_backend(HashMapStateBackend()).get_state_backend(), HashMapStateBackend
    )


def test_a_backend_that_does_not_say_leaves_incremental_checkpoints_as_they_are(
    env: StreamExecutionEnvironment,
) -> None:
    options.INCREMENTAL.set(env.get_configuration(), value=True)

    env.set_state_backend(EmbeddedRocksDBStateBackend())

    assert options.INCREMENTAL.get(env.get_configuration())
    assert options.STATE_BACKEND.get(env.get_configuration()) == "rocksdb"


def test_what_has_no_effect_is_said(caplog: pytest.LogCaptureFixture) -> None:
    backend = EmbeddedRocksDBStateBackend()
    with caplog.at_level(logging.WARNING):
        backend.set_options("org.example.Factory")
        backend.set_db_storage_paths("/a", "/b")

    assert backend.get_options() == "org.example.Factory"
    assert "options factories are not used here" in caplog.text
    assert "uses one local folder" in caplog.text


def test_what_cannot_be_a_backend_is_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeError, match=r"expected HashMapStateBackend\(\)"):
        env.set_state_backend("rocksdb")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected at least 1"):
        EmbeddedRocksDBStateBackend().set_number_of_transfer_threads(0)


def test_checkpoint_storage_is_read_back_from_the_settings() -> None:
    settings = Configuration()
    config = CheckpointConfig(settings)
    assert config.get_checkpoint_storage() is None

    config.set_checkpoint_storage(FileSystemCheckpointStorage("s3://bucket/jobs", 100))

    check_config(settings)
    found = config.get_checkpoint_storage()
    assert isinstance(found, FileSystemCheckpointStorage)
    assert found.get_checkpoint_path() == "s3://bucket/jobs"
    assert found.get_min_file_size_threshold() == 100
    assert found.get_write_buffer_size() == 100
    assert found.get_savepoint_path() is None
    assert str(found) == "FileSystemCheckpointStorage(path='s3://bucket/jobs')"
    assert options.CHECKPOINT_DIR.get(settings) == "s3://bucket/jobs"


def test_checkpoints_may_stay_with_the_job_manager() -> None:
    config = CheckpointConfig(Configuration())

    config.set_checkpoint_storage(JobManagerCheckpointStorage(max_state_size=10))

    found = config.get_checkpoint_storage()
    assert isinstance(found, JobManagerCheckpointStorage)
    assert found.get_checkpoint_path() is None
    assert found.get_max_state_size() == JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE
    assert found.get_savepoint_path() is None
    assert "JobManagerCheckpointStorage(path=None" in str(found)


def test_a_folder_is_storage_enough() -> None:
    found = CheckpointConfig(Configuration()).set_checkpoint_storage_dir("/checkpoints")

    storage = found.get_checkpoint_storage()
    assert isinstance(storage, FileSystemCheckpointStorage)
    assert storage.get_checkpoint_path() == "/checkpoints"


def test_what_cannot_be_storage_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a CheckpointStorage"):
        CheckpointConfig(Configuration()).set_checkpoint_storage("/folder")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the path is ''"):
        FileSystemCheckpointStorage("")
    with pytest.raises(ValueError, match="at least 0"):
        FileSystemCheckpointStorage("/folder", -1)


def test_older_names_of_checkpoint_settings_still_work() -> None:
    config = CheckpointConfig(Configuration())
    assert config.is_fail_on_checkpointing_errors()

    config.set_fail_on_checkpointing_errors(False).set_alignment_timeout(Duration.of_seconds(2))

    assert not config.is_fail_on_checkpointing_errors()
    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert config.get_alignment_timeout() == Duration.of_seconds(2)
    assert config.set_fail_on_checkpointing_errors(True).is_fail_on_checkpointing_errors()


def test_the_environment_knows_its_checkpointing(env: StreamExecutionEnvironment) -> None:
    assert env.is_changelog_state_backend_enabled() is None

    env.enable_checkpointing(500, CheckpointingMode.AT_LEAST_ONCE)
    env.enable_changelog_state_backend(True)

    assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.is_changelog_state_backend_enabled() is True
