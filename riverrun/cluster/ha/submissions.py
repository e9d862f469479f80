"""Submissions of clients as they are kept, and back."""

from __future__ import annotations

import msgspec

from riverrun.cluster.ha.stored_jobs import Artifact, StoredJob
from riverrun.cluster.submission.wire import SubmitRequest, decode_request, encode_request


def stored_job(request: SubmitRequest, now: int) -> StoredJob:
    """What is kept of ``request``, which came at ``now``."""
    return StoredJob(
        job_id=request.job,
        name=request.name,
        graph=request.graph,
        config=request.config,
        restore_from=request.restore_from,
        allow_non_restored=request.allow_non_restored,
        artifacts=tuple(
            Artifact(name=file.name, sha256=file.sha256)
            for file in request.code.sent_files().values()
        ),
        details=encode_request(msgspec.structs.replace(request, graph=b"", config={})),
        submitted=now,
    )


def request_of(job: StoredJob) -> SubmitRequest:
    """The request that ``job`` was made of, to go on from the job's latest checkpoint.

    Raises:
        MalformedSubmission: another version of riverrun has kept it.
    """
    return msgspec.structs.replace(
        decode_request(job.details), graph=job.graph, config=job.config, resume=True
    )
