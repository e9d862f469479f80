"""Where a database is and who asks: PyFlink's connection options, read without connecting."""

from __future__ import annotations

from dataclasses import dataclass, field

from riverrun.connectors.base.shown_address import shown_address
from riverrun.core.errors import ProgramError

__all__ = ["JdbcConnectionOptions"]


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """An address such as ``jdbc:postgresql://host:5432/shop`` or ``jdbc:sqlite:/data/shop.db``.

    The password is part of neither ``repr`` nor messages, wherever it was given.
    """

    url: str = field(repr=False)
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = field(default=None, repr=False)

    class JdbcConnectionOptionsBuilder:
        """Builds connection options, with PyFlink's names."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the address."""
            self._url = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Name the driver; it follows from the address and is checked against it only."""
            self._driver_name = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set who connects."""
            self._user_name = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options."""
            if not self._url:
                raise ProgramError(
                    "JdbcConnectionOptions: there is no address; call with_url(...), for example "
                    "with_url('jdbc:postgresql://localhost:5432/shop')"
                )
            return JdbcConnectionOptions(
                self._url, self._driver_name, self._user_name, self._password
            )

    def get_db_url(self) -> str:
        """The address as it was given."""
        return self.url

    def get_driver_name(self) -> str | None:
        """The driver's name, if one was given."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """Who connects, if it was given apart from the address."""
        return self.user_name

    def get_password(self) -> str | None:
        """The password, if it was given apart from the address."""
        return self.password

    def shown_url(self) -> str:
        """The address without its parameters and credentials, for messages.

        >>> JdbcConnectionOptions("jdbc:postgresql://u:p@db/shop?password=x").shown_url()
        'jdbc:postgresql://db/shop'
        """
        return shown_address(self.url)
