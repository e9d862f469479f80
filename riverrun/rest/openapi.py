"""The interface described by itself: an OpenAPI document made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from riverrun.rest.problems import ErrorBody
from riverrun.rest.routing import BodyKind, Raw, Route

_REFS: Final = "#/components/schemas/{name}"
_NAME: Final = re.compile(r"{(\w+)}")
_ERRORS: Final = {
    "400": "The request is not what it should be.",
    "401": "Who calls is not known.",
    "403": "This JobManager does not do it for others.",
    "404": "What the path names is not there.",
    "408": "The body did not come in time.",
    "409": "Not possible as things stand.",
    "411": "The length of the body is not given.",
    "413": "The body is too large.",
    "500": "The JobManager failed to answer.",
    "501": "Known in Flink, not offered here.",
    "503": "A store or Spark did not answer.",
}


def openapi(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """The document for ``routes``."""
    routes = tuple(routes)
    kinds = [kind for route in routes for kind in (route.gives, route.takes) if _is_json(kind)]
    schemas, components = msgspec.json.schema_components((*kinds, ErrorBody), ref_template=_REFS)
    known = {repr(kind): schema for kind, schema in zip((*kinds, ErrorBody), schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "riverrun",
            "version": version,
            "description": "The JobManager's interface. Paths and bodies are those of Apache Flink.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _is_json(kind: Any) -> bool:
    return kind is not None and kind is not Raw


def _operation(route: Route, schemas: Mapping[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "parameters": _parameters(route),
        "responses": {str(route.status): _success(route, schemas), **_failures(schemas)},
    }
    if route.body is BodyKind.FILE:
        file = {"type": "object", "properties": {"jarfile": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"content": {"multipart/form-data": {"schema": file}}}
    elif route.body is not BodyKind.JSON:
        raw = {"schema": {"type": "string", "format": "binary"}}
        operation["requestBody"] = {"content": {"application/octet-stream": raw}}
    elif route.takes is not None:
        body = {"application/json": {"schema": schemas[repr(route.takes)]}}
        operation["requestBody"] = {"content": body}
    return operation


def _operation_id(route: Route) -> str:
    words = route.path.replace("{", "").replace("}", "").strip("/").replace("/", "_")
    return f"{route.method.lower()}_{words.replace('-', '_').replace('.', '_')}"


def _parameters(route: Route) -> list[dict[str, Any]]:
    """What the path names, and the query parameters."""
    of, query = _fields(route.of), _fields(route.query)
    path = [
        {"name": name, "in": "path", "required": True, "schema": of.get(name, {"type": "string"})}
        for name in _NAME.findall(route.path)
    ]
    needed = {field.encode_name for field in msgspec.structs.fields(route.query) if field.required}
    return path + [
        {"name": name, "in": "query", "required": name in needed, "schema": facts}
        for name, facts in query.items()
    ]


def _fields(kind: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    """The schema of each field; in a path or a query nothing is null, and there are no defaults."""
    schema = msgspec.json.schema(kind)
    facts: dict[str, Any] = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return {name: _given(each) for name, each in facts.get("properties", {}).items()}


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}
    ]
    if len(kinds) == 1:
        return kinds[0]
    return {key: value for key, value in schema.items() if key != "default"}


def _success(route: Route, schemas: Mapping[str, Any]) -> dict[str, Any]:
    if route.gives is Raw:
        return {"description": "Done.", "content": {"*/*": {}}}
    schema = {"type": "object"} if route.gives is None else schemas[repr(route.gives)]
    return {"description": "Done.", "content": {"application/json": {"schema": schema}}}


def _failures(schemas: Mapping[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schemas[repr(ErrorBody)]}}
    return {code: {"description": words, "content": content} for code, words in _ERRORS.items()}
