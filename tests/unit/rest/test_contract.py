from __future__ import annotations

import msgspec
from starlette.testclient import TestClient

from riverrun.rest.openapi import openapi
from riverrun.rest.routes import OFFERED, ROUTES
from riverrun.rest.unsupported import REASONS
from tests.unit.rest.conftest import contract


def test_what_is_not_offered_answers_501_with_the_reason(client: TestClient) -> None:
    for (method, path), reason in REASONS.items():
        response = client.request(method, path.replace("{", "").replace("}", ""))

        assert response.status_code == 501
        assert reason in response.json()["errors"][0]


def test_no_route_is_there_twice() -> None:
    keys = [(route.method, route.path) for route in ROUTES]

    assert len(keys) == len(set(keys))


def test_every_route_says_what_it_does() -> None:
    assert [route.path for route in OFFERED if not route.summary] == []


def test_routes_that_flink_has_answer_with_its_status() -> None:
    for route in OFFERED:
        operation = contract()["paths"].get(route.path, {}).get(route.method.lower())
        if operation is not None:
            assert str(route.status) in operation["responses"], route.path


def test_the_interface_describes_itself() -> None:
    document = openapi(ROUTES, "0.1")

    assert document["paths"]["/jobs/{jobid}"]["get"]["parameters"][0]["name"] == "jobid"
    assert "JobDetail" in document["components"]["schemas"]
    msgspec.json.encode(document)


def test_every_operation_of_flink_is_offered_or_refused_with_a_reason() -> None:
    known = {(route.method, route.path) for route in ROUTES}
    flinks = {
        (method.upper(), path)
        for path, operations in contract()["paths"].items()
        for method in operations
    }

    assert flinks - known == set()


def test_nothing_is_refused_that_is_offered() -> None:
    assert {(route.method, route.path) for route in OFFERED} & set(REASONS) == set()
