from __future__ import annotations

from starlette.testclient import TestClient

from riverrun.rest.standby import LEADER_HEADER, standby_app


def test_a_standby_is_healthy_and_tells_where_the_leader_is() -> None:
    leader: list[str | None] = [None]
    client = TestClient(standby_app(lambda: leader[0]))

    assert client.get("/health").json() == {"status": "standby"}
    before = client.get("/v1/jobs/overview")
    leader[0] = "http://jobs:8081"
    after = client.post("/jobs", content=b"x")

    assert (before.status_code, after.status_code) == (503, 503)
    assert "no leader is known" in before.json()["errors"][0]
    assert after.headers[LEADER_HEADER] == "http://jobs:8081"
    assert "http://jobs:8081" in after.json()["errors"][0]
