# ruff: noqa: F401, F811  # fixtures
"""What the HTTP API answers, to whom, and what its document says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from distriage.answer.verdict import Verdict
from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier
from distriage.reading.report import read
from distriage_serving.store import Store
from distriage_serving.web.problem import MEDIA_TYPE

from support import past_index
from support.http_api import REPORTS, ROUTES, assert_problem, expected, post, server
from support.server import Running, running

KEY = "correct-horse-battery-staple"
OTHER_KEY = "second-key-of-the-same-server"
HOSTILE = "<script>alert(1)</script>\r\nX-Evil: 1\x1b[31m\u202e ${{ github.token }} {{7*7}} '; DROP TABLE--"


@pytest.mark.parametrize("mode", list(Mode))
def test_one_report(server: Running, keyword_classifier: Classifier, mode: Mode) -> None:
    response = post(server.client, {**REPORTS[0], "mode": mode.value})
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    assert response.json() == expected(keyword_classifier, REPORTS[0], mode)
    Verdict.model_validate_json(response.content)


def test_a_batch_keeps_its_order_and_equals_single_calls(server: Running, keyword_classifier: Classifier) -> None:
    response = post(server.client, {"reports": REPORTS, "mode": "precise"})
    assert response.json() == {"verdicts": [expected(keyword_classifier, report, Mode.PRECISE) for report in REPORTS]}


def test_a_blank_report_of_a_batch_has_its_error_in_its_place(server: Running) -> None:
    verdicts = post(server.client, {"reports": [{"title": " ", "id": "blank"}, REPORTS[0], {}]}).json()["verdicts"]
    assert ["error" in verdict for verdict in verdicts] == [True, False, True]
    assert verdicts[0]["id"] == "blank" and "expected a title or a body" in verdicts[0]["error"]


def test_explain_names_lines(server: Running, keyword_classifier: Classifier) -> None:
    response = post(server.client, {**REPORTS[0], "explain": True})
    assert response.json() == expected(keyword_classifier, REPORTS[0], explain=True)
    assert response.json()["axes"]["symptom"]["evidence"]
    assert post(server.client, REPORTS[0]).json()["axes"]["symptom"]["evidence"] is None


def test_similar_names_known_issues(indexed_bundle: Path) -> None:
    classifier = Classifier(indexed_bundle, threads=1)
    known = {**REPORTS[0], "similar": True}
    with running(partial(Classifier, classifier.bundle.path, threads=1)) as server:
        report = read(IssueReport("It hangs", "The job hangs.", "1"))
        nearest = classifier.similar.nearest(report, classifier.predict(report))
        assert [item["id"] for item in post(server.client, known).json()["similar"]] == [item.id for item in nearest]
        assert post(server.client, REPORTS[0]).json()["similar"] is None
        batch = post(server.client, {"reports": REPORTS, "similar": True}).json()["verdicts"]
        bugs = [verdict["axes"]["kind"]["label"] == "bug" for verdict in batch]
        assert [len(verdict["similar"]) for verdict in batch] == [len(nearest) * bug for bug in bugs]
        assert len(set(bugs)) == 2


def test_own_labels_are_named(keyword_bundle: Path, own_labels: Path) -> None:
    classifier = Classifier(keyword_bundle, threads=1, own=own_labels)
    with running(partial(Classifier, keyword_bundle, threads=1, own=own_labels)) as server:
        answer = post(server.client, REPORTS[0]).json()
        assert answer == expected(classifier, REPORTS[0]) and len(answer["own"]) == 3
        assert post(server.client, {**REPORTS[0], "id": "other/repo#1"}).json()["own"] is None


def test_a_model_without_an_index_refuses_to_name_similar_issues(server: Running) -> None:
    assert_problem(post(server.client, {**REPORTS[0], "similar": True}), 422, "invalid-request")


def test_duplicates_are_looked_up_in_a_repository_s_past_issues(shipped_bundle: Path, tmp_path: Path) -> None:
    past_index.write_asked_before(tmp_path, Classifier(shipped_bundle, threads=1))
    new = {"title": past_index.TITLE, "body": past_index.BODY, "id": "owner/repo#9"}
    with running(partial(Classifier, shipped_bundle, threads=1), past=tmp_path) as server:
        (item,) = post(server.client, {**new, "duplicates": "OWNER/Repo"}).json()["duplicates"]
        assert (item["id"], item["state"], item["url"]) == (
            "Owner/Repo#1",
            "open",
            "https://github.com/Owner/Repo/issues/1",
        )
        assert item["probability"] > 0.7 and post(server.client, new).json()["duplicates"] is None
        others = [{"title": "Docs: a typo"}, {"title": " "}, {**new, "id": "owner/repo#1"}, new]
        batch = post(server.client, {"reports": others, "duplicates": "owner/repo"}).json()["verdicts"]
        assert [len(verdict.get("duplicates", "failed")) for verdict in batch] == [0, len("failed"), 0, 1]


def test_a_report_of_a_version_after_the_fix_may_be_a_regression(shipped_bundle: Path, tmp_path: Path) -> None:
    index = past_index.asked_before(Classifier(shipped_bundle, threads=1), "vllm-project/vllm")
    fixed = replace(index.issues[0], state="closed", closed_by="#7", milestone="v0.8.5")
    replace(index, issues=[fixed, *index.issues[1:]]).save(tmp_path / "vllm-project--vllm.npz")
    with running(partial(Classifier, shipped_bundle, threads=1), past=tmp_path) as server:
        for version, is_later in (("0.9.1", True), ("0.8.2", False)):
            body = f"{past_index.BODY}\n\nvLLM version: {version}"
            new = {"title": past_index.TITLE, "body": body, "id": "vllm-project/vllm#9"}
            (item,) = post(server.client, {**new, "duplicates": "vllm-project/vllm"}).json()["duplicates"]
            assert (item["fixed_in"], item["possible_regression"]) == ("0.8.5", is_later)
            assert (item["closed_by"], item["closed_duplicate"]) == ("#7", None)


@pytest.mark.parametrize("keys", [{}, {"api_keys": [KEY]}], ids=["none", "one"])
def test_past_issues_in_the_database_are_looked_at_only_where_keys_are_set(
    keyword_bundle: Path, sqlite_store: Store, keys: dict[str, Any]
) -> None:
    sqlite_store.begin_past("owner/repo", "toy")
    asked = {**REPORTS[0], "duplicates": "owner/repo"}
    with running(partial(Classifier, keyword_bundle, threads=1), store=sqlite_store, **keys) as server:
        answer = post(server.client, asked, Authorization=f"Bearer {KEY}")
    assert (answer.status_code, answer.json().get("duplicates")) == ((200, []) if keys else (422, None))
    assert ("past issues in the database need DISTRIAGE_API_KEYS" in answer.text) == (not keys)


def test_a_repository_in_nested_groups_has_an_index_too(shipped_bundle: Path, tmp_path: Path) -> None:
    index = past_index.asked_before(Classifier(shipped_bundle, threads=1), "group/sub/project")
    index.save(tmp_path / "group--sub--project.npz")
    new = {"title": past_index.TITLE, "body": past_index.BODY, "duplicates": "group/sub/project"}
    with running(partial(Classifier, shipped_bundle, threads=1), past=tmp_path) as server:
        (item,) = post(server.client, new).json()["duplicates"]
    assert item["id"] == "group/sub/project#1"


@pytest.mark.parametrize(
    "repository", ["owner/other", "o" + 8 * f"/{'x' * 100}", "o" + 9 * "/x", "../../etc/passwd", "", 1]
)
def test_a_repository_without_an_index_has_no_duplicates(server: Running, repository: object) -> None:
    problem = assert_problem(post(server.client, {**REPORTS[0], "duplicates": repository}), 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "#/duplicates"


def test_taxonomy_and_models_are_those_of_the_bundle(server: Running, keyword_classifier: Classifier) -> None:
    taxonomy = server.client.get("/v1/taxonomy").json()
    assert {axis: [label["id"] for label in entry["labels"]] for axis, entry in taxonomy["axes"].items()} == {
        axis: list(calibration.labels) for axis, calibration in keyword_classifier.bundle.manifest.axes.items()
    }
    (model,) = server.client.get("/v1/models").json()["models"]
    assert (model["name"], model["taxonomy"]["version"], model["axes"]) == (
        "toy",
        "1",
        {"kind": 2, "symptom": 4, "fix": 2},
    )


def test_the_docs_need_nothing_from_outside(server: Running) -> None:
    page = server.client.get("/docs")
    assert page.status_code == 200 and page.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"<script|(?:src|href)=.https?:", page.text)
    assert all(path in page.text for path in ROUTES if path not in {"/docs", "/openapi.json"})
    visible = re.sub(r"<(details|pre).*?</\1>", "", page.text, flags=re.S)  # the schemas are folded
    assert f"<pre>curl http://127.0.0.1:{server.port}/livez</pre>" in page.text and "Bearer" not in page.text
    assert '"<b>' not in server.client.get("/docs", headers={"Host": 'x"<b>'}).text
    assert "`" not in visible and "<code>X-Request-Id</code>" in visible and len(visible) < 15_000 < len(page.text)


def test_keys(keyword_bundle: Path) -> None:
    with running(
        partial(Classifier, keyword_bundle, threads=1), api_keys=[KEY, OTHER_KEY], max_body_bytes=2000
    ) as server:
        for path, method in ROUTES.items():
            response = server.client.request(method, path, content=b"{}")
            if path.startswith("/v1/"):
                assert_problem(response, 401, "unauthorized")
                assert response.headers["www-authenticate"].startswith("Bearer ")
            else:
                assert response.status_code == 200
        assert_problem(post(server.client, REPORTS[0], Authorization=f"Bearer {KEY}x"), 401, "unauthorized")
        assert_problem(server.client.get("/v1/unknown"), 401, "unauthorized")
        for key in (KEY, OTHER_KEY):
            assert post(server.client, REPORTS[0], Authorization=f"Bearer {key}").status_code == 200
        # Without a key, nothing of the body is kept.
        assert_problem(server.client.post("/v1/classify", content=iter([b"x" * 50_000] * 20)), 401, "unauthorized")
        document = server.client.get("/openapi.json").json()
        assert document["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
        assert {
            path
            for path, methods in document["paths"].items()
            if any("security" in operation for operation in methods.values())
        } == {path for path in ROUTES if path.startswith("/v1/")}
        validate(document)
        page = server.client.get("/docs").text
        assert page.count("Authorization: Bearer $KEY") == 3 and "need a key" in page


def test_request_ids_are_taken_over_if_sane(server: Running) -> None:
    for good in ("a", "4bf92f35-77b3_4da6.A3CE", "x" * 64):
        assert server.client.get("/livez", headers={"X-Request-Id": good}).headers["x-request-id"] == good
    for bad in ("", "x" * 65, "a b", "<script>", "ünï".encode(), 'a"b', "a,b"):
        given = server.client.get("/nothing", headers={"X-Request-Id": bad}).headers["x-request-id"]
        assert re.fullmatch(r"[0-9a-f]{32}", given)
    assert len({server.client.get("/livez").headers["x-request-id"] for _ in range(20)}) == 20


def test_hostile_text_comes_back_only_inside_json(server: Running) -> None:
    for content in (
        {"title": HOSTILE, "body": HOSTILE, "id": HOSTILE},
        {"reports": [{"id": HOSTILE}, {"title": HOSTILE}]},
        {HOSTILE: 1},
        {"title": "x", "mode": HOSTILE},
    ):
        response = post(server.client, content)
        assert response.headers["content-type"] in {"application/json", MEDIA_TYPE}
        assert "x-evil" not in response.headers
        response.json()
        assert "\x1b" not in response.text and "\r" not in response.text
    assert post(server.client, {"title": "x", "id": HOSTILE}).json()["id"] == HOSTILE


def test_the_document_is_valid_and_declares_every_route_and_error(server: Running) -> None:
    document = server.client.get("/openapi.json").json()
    validate(document)
    assert set(document["paths"]) == set(ROUTES) - {"/docs", "/openapi.json"}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            wanted = (
                {"200", "400", "408", "413", "500", "503"}
                | ({"401"} if path.startswith("/v1/") else set())
                | ({"415", "422"} if "requestBody" in operation else set())
            )
            assert set(operation["responses"]) == wanted
    for answer in document["components"]["responses"].values():
        assert list(answer["content"]) == [MEDIA_TYPE]
    used = json.dumps(document["paths"])
    assert [name for name in document["components"]["responses"] if f"#/components/responses/{name}" not in used] == []
    assert document["components"]["schemas"]["ClassifyBatch"]["properties"]["reports"]["maxItems"] == 8


def test_generators_of_clients_find_each_field_of_a_request(server: Running) -> None:
    """A union beside the fields makes them drop the fields: no client could send a body."""
    schemas = server.client.get("/openapi.json").json()["components"]["schemas"]
    for name, fields in {"ReportFields": {"title", "body", "id"}, "ClassifyReport": {"title", "body", "mode"}}.items():
        assert set(schemas[name]["properties"]) >= fields
    assert [
        name for name, one in schemas.items() if "properties" in one and {"anyOf", "oneOf", "allOf"} & set(one)
    ] == []


@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/v1/taxonomy", "/nothing"]
)
def test_head_is_answered_as_get_without_a_body(server: Running, path: str) -> None:
    head, get = server.client.head(path), server.client.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert server.client.head("/v1/classify").headers["allow"] == "POST"
