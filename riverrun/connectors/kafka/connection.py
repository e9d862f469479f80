"""How clients reach Kafka: properties, with Java's names understood, checks and errors that say what to do."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from riverrun.connectors.base.extras import require
from riverrun.core.errors import ConfigError, ExternalError, ProgramError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ClusterMetadata

__all__ = [
    "Connection",
    "KafkaClientError",
    "KafkaCredentialsRefused",
    "KafkaUnreachable",
    "TopicMissing",
    "is_secret",
]

Property: TypeAlias = str | int | float | bool

client_log = logging.getLogger("riverrun.connectors.kafka.client")
"""Where what librdkafka has to say goes, which is stderr otherwise."""


class _NotAgainSoon(logging.Filter):
    """Lets a line through once a minute: librdkafka repeats itself several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text = re.sub(r"\(after .*|producer-\d+|consumer-\d+", "", record.getMessage())
        now = time.monotonic()
        if now < self._said.get(text, now):
            return False
        if len(self._said) > _REMEMBERED_LINES:
            self._said.clear()
        self._said[text] = now + 60.0
        return True


_REMEMBERED_LINES: Final = 1000
client_log.addFilter(_NotAgainSoon())

REACH_SECONDS: Final = 30.0
"""How long a broker may take to answer before a job is told that it is unreachable."""

_SECRET: Final = re.compile(r"password|secret|jaas|token|credential|key\.pem|oauthbearer\.config")
_FOR_JAVA_ONLY: Final = frozenset(
    {
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "max.block.ms",
        "max.poll.records",
        "partitioner.class",
    }
)
_RENAMED: Final[Mapping[str, str]] = {"fetch.max.wait.ms": "fetch.wait.max.ms"}
_NO_SUCH_STORE: Final = re.compile(r"ssl\.truststore\.")


class KafkaClientError(ExternalError):
    """A Kafka client failed; the text is the whole story."""


class KafkaUnreachable(KafkaClientError):  # noqa: N818
    """No broker answered."""


class KafkaCredentialsRefused(KafkaClientError):  # noqa: N818
    """Brokers answered and refused whom they were shown."""


class TopicMissing(KafkaClientError):  # noqa: N818
    """A topic that the program names does not exist."""


def is_secret(name: str) -> bool:
    """Whether a property's value must not be shown.

    >>> is_secret("sasl.password"), is_secret("acks")
    (True, False)
    """
    return _SECRET.search(name) is not None


@dataclass(frozen=True, slots=True)
class Connection:
    """Whom clients connect to and how; picklable, and made once by a builder in the program."""

    user: str
    """Who connects, for errors: ``"KafkaSink"``."""
    properties: Mapping[str, Property] = field(repr=False)
    """As librdkafka names them."""

    @staticmethod
    def of(
        user: str,
        bootstrap_servers: str | None,
        properties: Mapping[str, Property],
        kind: str = "Producer",
    ) -> Connection:
        """Check and translate what a builder was given; connects to nothing.

        Args:
            user: who connects, for errors.
            bootstrap_servers: ``host:port,...``; ``None``: among the properties.
            properties: of the client, by librdkafka's names or Java's.
            kind: of client: ``"Producer"`` or ``"Consumer"``, which have different properties.

        Raises:
            MissingExtra: confluent-kafka is not installed.
            ConfigError: a property is unknown or has a wrong value; no servers are named.
        """
        package = require("confluent_kafka", extra="kafka", user=user)
        found = _translated(user, properties)
        if bootstrap_servers is not None:
            found["bootstrap.servers"] = bootstrap_servers
        if not str(found.get("bootstrap.servers", "")).strip():
            raise ConfigError(
                f"{user}: no bootstrap servers are set; call set_bootstrap_servers('host:port')"
            )
        _validate(user, found, getattr(package, kind))
        return Connection(user, found)

    def check_producer(self, **more: Any) -> None:
        """Check the properties together with more, named as for ``client_properties``; connects to nothing.

        Raises:
            ConfigError: they do not go together.
        """
        from confluent_kafka import Producer  # noqa: PLC0415  (an extra)

        _validate(self.user, self.client_properties(**more), Producer)

    @property
    def bootstrap_servers(self) -> str:
        """``host:port,...``."""
        return str(self.properties["bootstrap.servers"])

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={'***' if is_secret(name) else value!r}"
            for name, value in sorted(self.properties.items())
        )
        return f"Connection({self.user}: {shown})"

    def client_properties(self, **more: Any) -> dict[str, Any]:
        """For a client's constructor; in ``more`` an underscore stands for each dot."""
        return {
            **self.properties,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def any_client_properties(self) -> dict[str, Any]:
        """Those that every kind of client understands."""
        return {name: value for name, value in self.properties.items() if _is_for_any_client(name)}

    def admin(self, on_error: Callable[[Any], None] | None = None) -> AdminClient:
        """A client for topics; it must outlive the futures that it gives."""
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415  (an extra)

        properties = self.any_client_properties()
        if on_error is not None:
            properties["error_cb"] = on_error
        return AdminClient(properties, logger=client_log)

    def metadata(self, timeout: float = REACH_SECONDS) -> ClusterMetadata:
        """What the cluster has: its topics and their partitions.

        Raises:
            KafkaCredentialsRefused: noticed at once.
            KafkaUnreachable: nobody answered within the timeout.
        """
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415  (an extra)

        errors: list[KafkaError] = []
        admin = self.admin(errors.append)
        deadline = time.monotonic() + timeout
        while True:
            try:
                return admin.list_topics(timeout=min(1.0, timeout))
            except KafkaException as e:
                admin.poll(0)
                errors.append(e.args[0])
                self._raise_if_refused(errors)
                if time.monotonic() >= deadline:
                    raise self.unreachable(errors, timeout) from e

    def partitions_of(
        self, topics: Collection[str], timeout: float = REACH_SECONDS
    ) -> dict[str, int]:
        """How many partitions each topic has.

        Raises:
            TopicMissing: one or more do not exist.
        """
        there = self.metadata(timeout).topics
        missing = sorted(topic for topic in topics if topic not in there)
        if missing:
            raise TopicMissing(
                f"{self.user}: topics {missing} do not exist at {self.bootstrap_servers!r}; create them, "
                f"or correct their names"
            )
        return {topic: len(there[topic].partitions) for topic in topics}

    def unreachable(self, errors: Collection[Any], timeout: float) -> KafkaUnreachable:
        """The error for a broker that did not answer."""
        seen = list(dict.fromkeys(error.str() for error in errors))[:3]
        return KafkaUnreachable(
            f"{self.user}: no broker of {self.bootstrap_servers!r} answered within {timeout:g} s "
            f"({'; '.join(seen)}); check the address, that the broker runs and the security protocol"
        )

    def _raise_if_refused(self, errors: Collection[Any]) -> None:
        for error in errors:
            if refuses_credentials(error):
                raise self.refused(error)

    def refused(self, error: Any) -> KafkaCredentialsRefused:
        """The error for brokers that answered with ``error`` to whom they were shown."""
        name = self.properties.get("sasl.username")
        return KafkaCredentialsRefused(
            f"{self.user}: {self.bootstrap_servers!r} refused the credentials of {name!r} "
            f"({error.str()}); check sasl.username, sasl.password, sasl.mechanism and security.protocol"
        )


def refuses_credentials(error: Any) -> bool:
    """Whether brokers say with ``error`` that they do not accept whom they were shown."""
    from confluent_kafka import KafkaError  # noqa: PLC0415  (an extra)

    return error.code() in {
        KafkaError._AUTHENTICATION,  # noqa: SLF001  (its public name)
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }


_CLIENT_PREFIXES: Final = (
    "bootstrap.servers",
    "broker.",
    "client.",
    "debug",
    "metadata.",
    "reconnect.",
    "request.timeout",
    "retry.",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
)


def _is_for_any_client(name: str) -> bool:
    return name.startswith(_CLIENT_PREFIXES)


def _translated(user: str, properties: Mapping[str, Property]) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            found |= _jaas(user, str(value))
        elif _NO_SUCH_STORE.match(name):
            raise ConfigError(
                f"{user}: property {name!r} names a Java trust store, which librdkafka cannot read; set "
                f"'ssl.ca.location' to a file with the certificates (PEM)"
            )
        elif name == "buffer.memory":
            found["queue.buffering.max.kbytes"] = max(1, int(value) // 1024)
        elif name not in _FOR_JAVA_ONLY:
            found[_RENAMED.get(name, name)] = value
    return found


def _jaas(user: str, text: str) -> dict[str, Property]:
    parts = {
        name: re.search(rf"""\b{name}\s*=\s*(["'])(.*?)\1""", text)
        for name in ("username", "password")
    }
    found = {f"sasl.{name}": match.group(2) for name, match in parts.items() if match}
    if len(found) != len(parts):
        raise ConfigError(
            f'{user}: property \'sasl.jaas.config\' has no username="..." and password="..."; set '
            f"'sasl.username' and 'sasl.password', or librdkafka's properties for another mechanism"
        )
    return dict(found)


def _validate(user: str, properties: Mapping[str, Property], kind: type[Any]) -> None:
    from confluent_kafka import KafkaException  # noqa: PLC0415  (an extra)

    # Without servers a client connects to nobody. Files may be where the workers are, and not here.
    tried: dict[str, Any] = {
        name: value
        for name, value in properties.items()
        if name != "bootstrap.servers" and not name.endswith(".location")
    }
    tried["log_level"] = 0  # Nothing that it could say now is of interest.
    if kind.__name__ == "Consumer":
        tried.setdefault("group.id", "check")
    try:
        client = kind(tried, logger=client_log)
    except (KafkaException, TypeError, ValueError) as e:
        error = e.args[0]
        text = error.str() if hasattr(error, "str") else str(error)
        for name, value in properties.items():
            if is_secret(name) and value:
                text = text.replace(str(value), "***")
        raise ConfigError(
            f"{user}: {text}; properties are librdkafka's, see its CONFIGURATION.md"
        ) from None
    if hasattr(client, "close"):
        client.close()


def refuse_reserved(
    user: str, properties: Mapping[str, Property], reserved: Mapping[str, str]
) -> None:
    """Raise when a property is set that riverrun sets itself.

    Args:
        user: whose properties they are.
        properties: what was set.
        reserved: names, each with what to call instead.

    Raises:
        ProgramError: one of them is there.
    """
    for name, instead in reserved.items():
        if name in properties:
            raise ProgramError(f"{user}: property {name!r} is set by riverrun; {instead}")
