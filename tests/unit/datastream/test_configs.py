"""Settings by method are settings by key."""

from riverrun.core.configuration import Configuration
from riverrun.core.options import CheckpointingMode, ExternalizedCheckpointRetention
from riverrun.core.time import Duration
from riverrun.datastream.checkpoint_config import CheckpointConfig
from riverrun.datastream.execution_config import ExecutionConfig


def test_checkpoint_defaults_are_flinks() -> None:
    config = CheckpointConfig(Configuration())

    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()


def test_checkpoint_settings_are_read_back_and_kept_by_key() -> None:
    settings = Configuration()
    config = CheckpointConfig(settings)
    retain = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION

    config.set_checkpoint_interval(500).set_checkpoint_timeout(7).set_max_concurrent_checkpoints(2)
    config.set_min_pause_between_checkpoints(9).set_tolerable_checkpoint_failure_number(4)
    config.set_externalized_checkpoint_retention(retain).enable_unaligned_checkpoints()
    config.set_aligned_checkpoint_timeout(Duration.of_seconds(3)).set_force_unaligned_checkpoints()

    again = CheckpointConfig(Configuration(settings.to_dict()))
    assert again.is_checkpointing_enabled()
    assert again.get_checkpoint_interval() == 500
    assert again.get_checkpoint_timeout() == 7
    assert again.get_max_concurrent_checkpoints() == 2
    assert again.get_min_pause_between_checkpoints() == 9
    assert again.get_tolerable_checkpoint_failure_number() == 4
    assert again.get_externalized_checkpoint_retention() is retain
    assert again.is_externalized_checkpoints_enabled()
    assert again.is_unaligned_checkpoints_enabled()
    assert again.is_force_unaligned_checkpoints()
    assert again.get_aligned_checkpoint_timeout() == Duration.of_seconds(3)
    assert not again.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()


def test_execution_settings_are_read_back() -> None:
    config = ExecutionConfig(Configuration())
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT
    assert config.get_auto_watermark_interval() == 200

    config.set_parallelism(3).set_max_parallelism(9).set_auto_watermark_interval(50)
    config.set_latency_tracking_interval(100).enable_object_reuse()
    config.set_use_snapshot_compression(True)

    assert (config.get_parallelism(), config.get_max_parallelism()) == (3, 9)
    assert config.get_auto_watermark_interval() == 50
    assert config.get_latency_tracking_interval() == 100
    assert config.is_object_reuse_enabled()
    assert not config.disable_object_reuse().is_object_reuse_enabled()
    assert config.is_use_snapshot_compression()
    assert config.has_auto_generated_uids_enabled()
