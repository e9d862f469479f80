"""`/openapi.json`: the interface describes itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from riverrun.rest.context import RestContext
from riverrun.rest.openapi import openapi
from riverrun.rest.routing import Call, Raw, Route

_JSON: Final = "application/json"


def described(routes: Iterable[Route]) -> tuple[Route, ...]:
    """The routes, and one more that describes them and itself."""
    description = _Description()
    all_of_them = (*routes, Route("GET", "/openapi.json", description, gives=Raw))
    description.routes = all_of_them
    return all_of_them


class _Description:
    """This interface as an OpenAPI document."""

    def __init__(self) -> None:
        self.routes: tuple[Route, ...] = ()
        self._made: dict[str, Raw] = {}
        """By version: there is one in a process."""

    def __call__(self, rest: RestContext, call: Call[Any, Any, Any]) -> Raw:
        del call
        version = rest.dispatcher.facts().version
        if version not in self._made:
            document = openapi(self.routes, version)
            self._made[version] = Raw(msgspec.json.encode(document), _JSON)
        return self._made[version]
