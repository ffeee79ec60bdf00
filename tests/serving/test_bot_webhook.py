from __future__ import annotations

import json
import re
import socket
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from distriage.classifier import Classifier
from distriage_serving.store import Delivery, Job, Store
from distriage_serving.store.schema import Base
from distriage_serving.web import guard
from distriage_serving.web.problem import MEDIA_TYPE, Problem, ProblemError
from distriage_serving.web.signature import HEADER, Signature

from support.databases import new_sqlite
from support.github import PERSON, GitHub
from support.server import Running, running
from support.waiting import WAIT_S, until
from support.webhook import BOT, post, sign

ISSUE = "owner/repo#1"


@pytest.fixture
def github(app_github: GitHub) -> GitHub:
    app_github.open(ISSUE, "It hangs", "hangs hangs hangs")
    app_github.files["owner/repo/.github/distriage.yml"] = "axes: {symptom: true}\n"
    return app_github


@pytest.fixture(scope="module")
def shared(keyword_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Running]]:
    """A server and its store, whose rows outlive a test."""
    load, file = partial(Classifier, keyword_bundle, threads=1), tmp_path_factory.mktemp("store") / "store.db"
    with (
        Store.open(new_sqlite(file)) as opened,
        running(load, store=opened, workers=0, max_body_bytes=2048, **BOT) as started,
    ):
        yield opened, started


@pytest.fixture
def server(shared: tuple[Store, Running]) -> Running:
    return shared[1]


@pytest.fixture
def store(shared: tuple[Store, Running]) -> Store:
    """An empty one."""
    store, _ = shared
    with store._engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
    return store


def body_of(github: GitHub, action: str = "opened", **more: Any) -> bytes:
    return json.dumps(github.payload(action, ISSUE, **more)).encode()


def test_the_example_of_github_s_documentation() -> None:
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    signature = Signature(b"It's a Secret to Everybody", header)
    signature.update(b"Hello, ")
    signature.update(b"World!")
    signature.check()
    signature.update(b"!")
    with pytest.raises(ProblemError, match="expected the header"):
        signature.check()


def test_a_signed_delivery_is_kept_as_it_came_and_answered_before_any_work(
    server: Running, store: Store, github: GitHub
) -> None:
    body = body_of(github)
    answer = post(server, body, X_GitHub_Delivery="72d3162e-cc78-11e3-81ab-4c9367dc0958")
    assert (answer.status_code, answer.json()) == (202, {"status": "kept"})
    (kept,) = store.list_work(Delivery)
    assert (kept.id, kept.event, kept.action, kept.repository, kept.issue, kept.installation_id, kept.state) == (
        "72d3162e-cc78-11e3-81ab-4c9367dc0958", "issues", "opened", "owner/repo", 1, 1, "waiting",
    )  # fmt: skip
    assert store.list_work(Job) == [] and github.requests == []
    (taken,) = store.lease(Delivery, "a worker", 60)
    assert taken.payload.encode() == body


REFUSED: dict[str, tuple[dict[str, str], int]] = {
    "unsigned": ({"X_Hub_Signature_256": ""}, 401),
    "wrongly signed": ({"X_Hub_Signature_256": sign(b"another body")}, 401),
    "another secret": ({"X_Hub_Signature_256": sign(b"{}", "not the secret")}, 401),
    "old algorithm": ({"X_Hub_Signature_256": "", "X_Hub_Signature": "sha1=0"}, 401),
    "too short": ({"X_Hub_Signature_256": "sha256=0123"}, 401),
    "not ASCII": ({"X_Hub_Signature_256": "sha256=\xe9"}, 401),
    "no event": ({"X_GitHub_Event": ""}, 400),
    "no id": ({"X_GitHub_Delivery": ""}, 400),
    "hostile id": ({"X_GitHub_Delivery": "'; DROP TABLE deliveries --"}, 400),
    "form": ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
}


def test_a_header_that_is_refused_is_named_with_its_value(server: Running, github: GitHub) -> None:
    for header, value, expected in (
        ("X-GitHub-Delivery", "72d3162e_cc78", "8 to 64 letters, digits and hyphens"),
        ("X-GitHub-Event", "Issues!", "1 to 64 of a-z, 0-9 and _"),
    ):
        answer = post(server, body_of(github), **{header.replace("-", "_"): value})
        assert answer.json()["detail"] == f"{header}: {value!r}; expected {expected}"


def refused_signatures(server: Running) -> float:
    found = re.search(r"^distriage_signatures_refused_total (\S+)", server.client.get("/metrics").text, re.M)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_github_s_is_refused_and_reaches_nothing(
    server: Running, store: Store, github: GitHub, case: str
) -> None:
    headers, status = REFUSED[case]
    before = refused_signatures(server)
    answer = post(server, b"{}" if case == "another secret" else body_of(github), **headers)
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE)
    Problem.model_validate(answer.json())
    metrics = server.client.get("/metrics").text
    assert store.list_work(Delivery) == [] and 'distriage_reports_total{result="classified"}' not in metrics
    assert refused_signatures(server) - before == (status == 401)


def test_after_a_refusal_the_connection_takes_the_next_request_at_once(
    server: Running, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is still being sent has to be waited for."""
    monkeypatch.setattr(guard, "LINGER_S", 10 * WAIT_S)
    refused = f"POST /github/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n{HEADER}: {sign(b'other')}\r\n\r\n{{}}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as connection:
        connection.sendall(refused.encode() + b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answers = b""
        while chunk := connection.recv(65536):
            answers += chunk
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"401", b"200"]
    assert store.list_work(Delivery) == []


@pytest.mark.parametrize("body", [b"", b"[]", b'"text"', b"{", b"\xff{}", b"[" * 100_000, b'{"a": NaN'])
def test_a_signed_body_that_is_no_object_is_refused(server: Running, store: Store, body: bytes) -> None:
    assert post(server, body).status_code == 400
    assert store.list_work(Delivery) == []


@pytest.mark.parametrize("place", ["issue", "installation"])
def test_a_number_that_no_database_holds_is_none(server: Running, store: Store, github: GitHub, place: str) -> None:
    payload = github.payload("opened", ISSUE)
    payload[place]["number" if place == "issue" else "id"] = 1 << 64
    assert post(server, json.dumps(payload).encode()).status_code == 202
    (kept,) = store.list_work(Delivery)
    assert (kept.issue if place == "issue" else kept.installation_id) is None


def test_a_redelivery_is_known_and_a_replay_under_another_id_is_refused(
    server: Running, store: Store, github: GitHub
) -> None:
    body, first = body_of(github), str(uuid.uuid4())
    assert post(server, body, X_GitHub_Delivery=first).status_code == 202
    again = post(server, body, X_GitHub_Delivery=first)
    assert (again.status_code, again.json()) == (200, {"status": "known"})
    replay = post(server, body)
    assert replay.status_code == 409 and "came before" in replay.json()["detail"]
    assert [delivery.id for delivery in store.list_work(Delivery)] == [first]


def test_a_repository_that_is_put_on_the_app_again_by_the_same_person_is_a_second_delivery(
    server: Running, store: Store, node_modules: Path
) -> None:
    """As recorded, the event holds no time, so both have the same body."""
    events = json.loads((node_modules / "@octokit/webhooks-examples/api.github.com/index.json").read_text("utf-8"))
    recorded = {event["name"]: event["examples"] for event in events}["installation_repositories"]
    added, removed = (next(x for x in recorded if x["action"] == action) for action in ("added", "removed"))
    guids = [str(uuid.uuid4()) for _ in range(3)]
    for guid, payload in zip(guids, (added, removed, added), strict=True):
        headers = {"X_GitHub_Event": "installation_repositories", "X_GitHub_Delivery": guid}
        assert post(server, json.dumps(payload).encode(), **headers).status_code == 202
        assert post(server, json.dumps(payload).encode(), **headers).status_code == 200
    assert {delivery.id for delivery in store.list_work(Delivery)} == set(guids)


def test_a_redelivery_of_a_dead_one_makes_it_due_again(server: Running, store: Store, github: GitHub) -> None:
    body, first = body_of(github), str(uuid.uuid4())
    post(server, body, X_GitHub_Delivery=first)
    store.finish(store.lease(Delivery, "worker", 60)[0], "dead", "it failed")
    assert post(server, body, X_GitHub_Delivery=first).status_code == 200
    assert store.list_work(Delivery)[0].state == "waiting"


def test_github_s_largest_delivery_is_taken_and_a_larger_one_is_not(
    server: Running, store: Store, github: GitHub
) -> None:
    body = body_of(github, filler="")
    largest = body.replace(b'"filler": ""', b'"filler": "%s"' % (b"x" * ((25 << 20) - len(body))))
    assert len(largest) == 25 << 20
    assert post(server, largest + b" ").status_code == 413
    assert store.list_work(Delivery) == []
    assert post(server, largest).status_code == 202
    assert (
        server.client.post(
            "/v1/classify", content=b" " * 2049, headers={"Content-Type": "application/json"}
        ).status_code
        == 413
    )


def test_only_post_and_no_route_without_the_bot(server: Running, store: Store, keyword_bundle: Path) -> None:
    assert server.client.get("/github/webhook").status_code == 405
    with running(partial(Classifier, keyword_bundle, threads=1), store=store) as without:
        assert post(without, b"{}").status_code == 404


def test_a_delivery_becomes_labels_in_one_process(store: Store, keyword_bundle: Path, github: GitHub) -> None:
    with running(partial(Classifier, keyword_bundle, threads=1), store=store, workers=1, debounce_s=0, **BOT) as server:
        assert post(server, body_of(github)).status_code == 202
        until(lambda: github.labels(ISSUE) == ["symptom: hang"])
        assert (
            post(
                server,
                body_of(github, "created", comment=github.comment(ISSUE, "/triage wrong symptom=oom", PERSON)),
                X_GitHub_Event="issue_comment",
            ).status_code
            == 202
        )
        until(lambda: github.labels(ISSUE) == ["symptom: oom"])
        until(lambda: store.counts()["jobs"]["leased"] == 0)
