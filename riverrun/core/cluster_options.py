"""Options of the JobManager: its REST interface, what it keeps, who may call."""

from __future__ import annotations

from typing import Final

from riverrun.core.config_options import (
    BOOLEAN,
    DURATION,
    INT,
    MEMORY,
    STRING,
    ConfigOption,
    optional,
)
from riverrun.core.time import Duration

# the REST interface
REST_ENABLED: Final = ConfigOption(
    "riverrun.rest.enabled",
    BOOLEAN,
    default=False,
    description="whether a program that brings its own JobManager serves the REST interface and the page",
)
REST_ADDRESS: Final = ConfigOption(
    "rest.address", STRING, "localhost", "where the command line finds the JobManager"
)
REST_PORT: Final = ConfigOption(
    "rest.port",
    STRING,
    "8081",
    "where the command line finds it, and its port unless rest.bind-port is set",
)
REST_BIND_ADDRESS: Final = ConfigOption(
    "rest.bind-address",
    STRING,
    "127.0.0.1",
    "the address that the interface serves on; others than loopback need a token or client certificates",
)
REST_BIND_PORT: Final = ConfigOption(
    "rest.bind-port",
    optional(STRING),
    None,
    "a port, or ports such as 50100-50200 of which a free one is taken",
)
REST_TOKEN: Final = ConfigOption(
    "riverrun.rest.token",
    optional(STRING),
    None,
    "callers must send it: 'Authorization: Bearer <token>'",
)
REST_CERTIFICATE: Final = ConfigOption(
    "riverrun.rest.tls.certificate",
    optional(STRING),
    None,
    "PEM file: the interface is served with TLS",
)
REST_KEY: Final = ConfigOption(
    "riverrun.rest.tls.key", optional(STRING), None, "PEM file with the key of the certificate"
)
REST_CLIENT_AUTHORITY: Final = ConfigOption(
    "riverrun.rest.tls.client-authority",
    optional(STRING),
    None,
    "PEM file: callers need a certificate that it signed",
)
REST_AUTHORITY: Final = ConfigOption(
    "riverrun.rest.tls.authority",
    optional(STRING),
    None,
    "PEM file: clients accept a JobManager whose certificate it signed",
)
REST_CLIENT_CERTIFICATE: Final = ConfigOption(
    "riverrun.rest.tls.client-certificate", optional(STRING), None, "PEM file: the client's own"
)
REST_CLIENT_KEY: Final = ConfigOption(
    "riverrun.rest.tls.client-key", optional(STRING), None, "PEM file with the key of it"
)
ALLOWED_ORIGINS: Final = ConfigOption(
    "web.access-control-allow-origin",
    optional(STRING),
    None,
    "other web pages that may call the interface, such as 'https://jobs.example', with commas between "
    "them; '*': all. Its own page may always",
)
OPEN_PAGE: Final = ConfigOption(
    "riverrun.rest.open-page",
    BOOLEAN,
    default=False,
    description="whether a program that brings its own JobManager opens the page in a browser",
)
UPLOAD_DIR: Final = ConfigOption(
    "web.upload.dir",
    optional(STRING),
    None,
    "where uploaded programs are kept; a temporary folder if not set",
)
UPLOAD_MAX: Final = ConfigOption(
    "rest.server.max-content-length", MEMORY, 100 << 20, "the largest upload that is taken"
)
SUBMIT_ENABLED: Final = ConfigOption(
    "web.submit.enable",
    BOOLEAN,
    default=True,
    description="whether programs can be uploaded and run",
)
CANCEL_ENABLED: Final = ConfigOption(
    "web.cancel.enable", BOOLEAN, default=True, description="whether the page offers to cancel jobs"
)
RESCALE_ENABLED: Final = ConfigOption(
    "web.rescale.enable",
    BOOLEAN,
    default=True,
    description="whether the page offers to rescale jobs",
)
REFRESH_INTERVAL: Final = ConfigOption(
    "web.refresh-interval",
    DURATION,
    Duration.of_seconds(1),
    "how often the page asks for news, at most",
)

CLIENT_PATIENCE: Final = ConfigOption(
    "client.heartbeat.timeout",
    DURATION,
    Duration.of_seconds(180),
    "after how long without a sign of its client a job keeps no values for it any more",
)

ATTACHED: Final = ConfigOption(
    "execution.attached",
    BOOLEAN,
    default=True,
    description="whether a program that sends its job to a JobManager stays and takes what the job prints",
)

# what is kept of jobs that ended
ARCHIVE_DIR: Final = ConfigOption(
    "jobmanager.archive.fs.dir",
    optional(STRING),
    None,
    "where reports of ended jobs are kept, so that they can be browsed after a restart",
)
JOB_STORE_CAPACITY: Final = ConfigOption(
    "jobstore.max-capacity", INT, 1000, "of how many ended jobs a report is kept"
)
JOB_STORE_EXPIRATION: Final = ConfigOption(
    "jobstore.expiration-time", DURATION, Duration.of_hours(24 * 7), "for how long it is kept"
)
EXCEPTION_HISTORY: Final = ConfigOption(
    "web.exception-history-size", INT, 100, "how many failures of a job are remembered"
)
