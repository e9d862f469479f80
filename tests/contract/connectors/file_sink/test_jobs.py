"""A job in this process whose files are objects; where they are, its configuration says."""

from __future__ import annotations

from riverrun.api.serialization import Encoder
from riverrun.connectors.files.bucket_assigners import BucketAssigner
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.core.configuration import Configuration
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.contract.connectors.file_sink.places import Place


def test_a_job_writes_objects_with_the_keys_of_its_configuration(s3: Place) -> None:
    folder = s3.folder()
    config = Configuration()
    config.set_string("riverrun.master", "in-process")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.configure({**s3.config, "execution.checkpointing.interval": "20 ms"})
    sink = (
        FileSink.for_row_format(folder, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_success_file()
        .build()
    )
    env.set_parallelism(2).from_sequence(1, 200).sink_to(sink)
    env.execute()

    assert sorted(s3.lines(folder)) == sorted(str(n) for n in range(1, 201))
    assert s3.hidden(folder) == ["_SUCCESS"]
    assert s3.uploads(folder) == []
