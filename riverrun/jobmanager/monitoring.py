"""What a JobManager shows of itself beside REST: log files and metrics reporters."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from riverrun.core import metric_options, options
from riverrun.core.errors import ConfigError
from riverrun.core.log_output import LogSettings
from riverrun.graph.executor import JobSubmission
from riverrun.jobmanager.log_files import JobManagerLogs
from riverrun.metrics.reporters.configured import configured_reporters
from riverrun.metrics.reporters.loop import ReporterLoop
from riverrun.metrics.scope import MetricScope

_REMOTE_FOLDER: Final = "riverrun-logs"
"""Below the folder that Spark gives each executor, and removes with the application."""
_PASSED_ON: Final = (
    metric_options.LOG_LEVEL,
    metric_options.LOG_MAX,
    metric_options.LOG_FILE_SIZE,
)


class Monitoring:
    """Begins with its creation and ends with ``close``.

    Args:
        config: the JobManager's settings.
        scopes: all metrics at the moment.
        session: whether the process is a JobManager and nothing else: then it writes log files even if
            nobody says where, to a temporary folder.

    Raises:
        ConfigError: a reporter that there is not, or a folder that cannot be written.
        ExternalError: a reporter's port or file is not to be had.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        scopes: Callable[[], Sequence[MetricScope]],
        *,
        session: bool,
    ) -> None:
        self._config = config
        self._temporary: Path | None = None
        self._logs: JobManagerLogs | None = None
        self.log_folder = self._folder(session=session)
        """Where log files are; ``None``: there are none."""
        self._loop: ReporterLoop | None = None
        try:
            self._open_logs(session=session)
            self._loop = ReporterLoop(configured_reporters(config, scopes, self.log_folder), scopes)
            self._loop.start()
        except BaseException:
            self.close()
            raise

    def with_logs(self, submission: JobSubmission) -> JobSubmission:
        """The job with what its workers need to write log files, unless it says so itself."""
        if self.log_folder is None:
            return submission
        own = {
            option.key: self._config[option.key]
            for option in _PASSED_ON
            if option.key in self._config
        }
        is_here = self._temporary is None or options.MASTER.get(self._config).startswith("local")
        own[metric_options.LOG_DIR.key] = str(self.log_folder) if is_here else _REMOTE_FOLDER
        return replace(submission, config={**own, **submission.config})

    def end_reports(self) -> None:
        """Report a last time."""
        if self._loop is not None:
            self._loop.close()

    def close(self) -> None:
        """End reports and logs; a temporary folder goes."""
        self.end_reports()
        if self._logs is not None:
            self._logs.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _folder(self, *, session: bool) -> Path | None:
        named = metric_options.LOG_DIR.get(self._config)
        if named is not None:
            return Path(named).absolute()
        if not session:
            return None
        self._temporary = Path(tempfile.mkdtemp(prefix="riverrun-logs-"))
        return self._temporary

    def _open_logs(self, *, session: bool) -> None:
        if self.log_folder is None:
            return
        logs = JobManagerLogs(LogSettings.at(self.log_folder, self._config), whole_process=session)
        try:
            logs.open()
        except OSError as e:
            raise ConfigError(
                f"option {metric_options.LOG_DIR.key!r}: is {str(self.log_folder)!r}, which cannot be "
                f"written ({e}); name another folder"
            ) from e
        self._logs = logs
