"""Application mode with a REST interface: the process that runs a program is its JobManager."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

from riverrun.cluster.job_master.master import JobMaster
from riverrun.core import cluster_options, options
from riverrun.graph.executor import JobSubmission
from riverrun.jobmanager.job_manager import JobManager
from riverrun.spark.driver.executor import SparkExecutor
from riverrun.ui.opening import open_page

log = logging.getLogger(__name__)


class ApplicationExecutor:
    """Satisfies ``JobExecutor``: a ``SparkExecutor`` whose jobs can be watched and steered over REST."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager

    @staticmethod
    def create(*, master: str, config: Mapping[str, str], session: Any) -> ApplicationExecutor:
        """On the user's ``session``, or on an application of our own on ``master``."""
        settings = {**config, options.MASTER.key: master}
        manager = JobManager(
            SparkExecutor.create(master=master, config=settings, session=session), settings
        )
        url = manager.serve()
        sys.stderr.write(f"JobManager: {url} (open it in a browser to see the jobs)\n")
        if cluster_options.OPEN_PAGE.get(settings):
            open_page(url)
        return ApplicationExecutor(manager)

    @property
    def url(self) -> str | None:
        """Where the REST interface is."""
        return self._manager.url

    def submit(self, submission: JobSubmission) -> JobMaster:
        return self._manager.submit(submission)

    def close(self) -> None:
        self._manager.close()
