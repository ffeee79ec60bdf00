"""What GitHub answers: objects with each field that its description requires; see `test_github_requests.py`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

API, WEB = "https://api.github.com", "https://github.com"
TIME = "2024-05-01T10:00:00Z"


def account(login: str, id: int = 1, type: str = "User") -> dict[str, Any]:  # noqa: A002
    """A person, an organization or a bot."""
    url = f"{API}/users/{quote(login)}"
    return {
        "login": login,
        "id": id,
        "node_id": f"U_{id}",
        "avatar_url": f"https://avatars.githubusercontent.com/u/{id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{WEB}/{quote(login)}",
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": type,
        "site_admin": False,
    }


def profile(account: dict[str, Any]) -> dict[str, Any]:
    """An account as its own page shows it."""
    said = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    return {**account, **said, **counts, "created_at": TIME, "updated_at": TIME}


def listed_file(repository: str, folder: str, name: str) -> dict[str, Any]:
    """A file in the listing of a folder."""
    path = f"{folder}/{name}"
    url, page = (
        f"{API}/repos/{repository}/contents/{path}?ref=main",
        f"https://github.com/{repository}/blob/main/{path}",
    )
    git = f"{API}/repos/{repository}/git/blobs/{'0' * 40}"
    return {
        "name": name,
        "path": path,
        "sha": "0" * 40,
        "size": 100,
        "url": url,
        "html_url": page,
        "git_url": git,
        "download_url": f"https://raw.githubusercontent.com/{repository}/main/{path}",
        "type": "file",
        "_links": {"self": url, "git": git, "html": page},
    }


def label(repository: str, name: str, color: str = "ededed", description: str | None = None) -> dict[str, Any]:
    """A label of a repository."""
    return {
        "id": sum(map(ord, name)),
        "node_id": f"LA_{name}",
        "url": f"{API}/repos/{repository}/labels/{quote(name)}",
        "name": name,
        "color": color,
        "default": False,
        "description": description,
    }


def issue(repository: str, number: int, title: str, body: str | None, labels: Sequence[str] = ()) -> dict[str, Any]:
    """An open issue."""
    url = f"{API}/repos/{repository}/issues/{number}"
    reactions = dict.fromkeys(("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"), 0)
    return {
        "url": url,
        "repository_url": f"{API}/repos/{repository}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": f"{WEB}/{repository}/issues/{number}",
        "id": 2_000_000_000 + number,
        "node_id": f"I_{number}",
        "number": number,
        "title": title,
        "user": account("octocat", 583231),
        "labels": [label(repository, name) for name in labels],
        "state": "open",
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": 0,
        "created_at": TIME,
        "updated_at": TIME,
        "closed_at": None,
        "author_association": "NONE",
        "active_lock_reason": None,
        "body": body,
        "reactions": {"url": f"{url}/reactions", "total_count": 0, **reactions},
        "timeline_url": f"{url}/timeline",
        "performed_via_github_app": None,
        "state_reason": None,
    }


def release(repository: str, tag: str, published_at: str | None, **changes: Any) -> dict[str, Any]:
    """A release; without a date, a draft."""
    url = f"{API}/repos/{repository}/releases/1"
    return {
        "url": url,
        "assets_url": f"{url}/assets",
        "upload_url": f"https://uploads.github.com/repos/{repository}/releases/1/assets{{?name,label}}",
        "html_url": f"{WEB}/{repository}/releases/tag/{quote(tag)}",
        "id": 1,
        "author": account("maintainer", 7),
        "node_id": "RE_1",
        "tag_name": tag,
        "target_commitish": "main",
        "name": tag,
        "draft": published_at is None,
        "prerelease": False,
        "created_at": TIME,
        "published_at": published_at,
        "assets": [],
        "tarball_url": None,
        "zipball_url": None,
        **changes,
    }


def issue_type(name: str) -> dict[str, Any]:
    """An issue type of an organization."""
    return {"id": sum(map(ord, name)), "node_id": f"IT_{name}", "name": name, "description": None}


def label_event(repository: str, id: int, kind: str, actor: dict[str, Any] | None, name: str) -> dict[str, Any]:  # noqa: A002
    """`labeled` or `unlabeled` in an issue's timeline; `actor` is None after its account was deleted."""
    return {**event(repository, id, kind, actor), "label": {"name": name, "color": "ededed"}}


def type_event(repository: str, id: int, kind: str, actor: dict[str, Any], name: str) -> dict[str, Any]:  # noqa: A002
    """`issue_type_added` or `issue_type_removed` in an issue's timeline."""
    given = {"id": sum(map(ord, name)), "name": name, "color": "red"}
    return {
        **event(repository, id, kind, actor),
        ("prev_issue_type" if kind == "issue_type_removed" else "issue_type"): given,
    }


def suggestion(id: int, issue_id: int, actor_id: int, action: str) -> dict[str, Any]:  # noqa: A002
    """A pending suggestion."""
    return {
        "id": id,
        "issue_id": issue_id,
        "action": action,
        "state": "pending",
        "target_id": None,
        "target_value": None,
        "rationale": None,
        "confidence": None,
        "actor_id": actor_id,
        "issue_event_id": None,
        "resolved_by": None,
        "created_at": TIME,
        "updated_at": TIME,
    }


def issue_field(id: int, name: str, *options: str) -> dict[str, Any]:  # noqa: A002
    """A single-select issue field of an organization."""
    listed = [{"id": 100 * id + place, "name": option} for place, option in enumerate(options)]
    return {"id": id, "node_id": f"IF_{id}", "name": name, "data_type": "single_select", "options": listed}


def field_value(field: dict[str, Any], option: str) -> dict[str, Any]:
    """The value of such a field on an issue."""
    chosen = next({**one, "color": "gray"} for one in field["options"] if one["name"] == option)
    return {
        "issue_field_id": field["id"],
        "issue_field_name": field["name"],
        "node_id": f"IFV_{field['id']}",
        "data_type": "single_select",
        "value": option,
        "single_select_option": chosen,
    }


def event(repository: str, id: int, kind: str, actor: dict[str, Any] | None) -> dict[str, Any]:  # noqa: A002
    """An entry of an issue's timeline; `closed` and `reopened` have no more than this."""
    return {
        "id": id,
        "node_id": f"LE_{id}",
        "url": f"{API}/repos/{repository}/issues/events/{id}",
        "actor": actor,
        "event": kind,
        "commit_id": None,
        "commit_url": None,
        "created_at": TIME,
        "performed_via_github_app": None,
    }


def cross_reference(
    repository: str, number: int, title: str, merged_at: str | None, actor: dict[str, Any]
) -> dict[str, Any]:
    """A pull request that names an issue, as the issue's timeline shows it."""
    url = f"{API}/repos/{repository}/pulls/{number}"
    page = f"{WEB}/{repository}/pull/{number}"
    there = {"url": url, "html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch"}
    state = "open" if merged_at is None else "closed"
    change = {**issue(repository, number, title, None), "html_url": page, "state": state, "draft": False}
    source = {"type": "issue", "issue": {**change, "pull_request": {**there, "merged_at": merged_at}}}
    times = {"created_at": TIME, "updated_at": TIME}
    return {"event": "cross-referenced", "actor": actor, "source": source, **times}


def comment(repository: str, number: int, id: int, author: dict[str, Any], body: str) -> dict[str, Any]:  # noqa: A002
    """A comment, as the timeline shows it and, with two fields less, the list of comments."""
    return {
        "id": id,
        "node_id": f"IC_{id}",
        "url": f"{API}/repos/{repository}/issues/comments/{id}",
        "html_url": f"{WEB}/{repository}/issues/{number}#issuecomment-{id}",
        "issue_url": f"{API}/repos/{repository}/issues/{number}",
        "user": author,
        "created_at": TIME,
        "updated_at": TIME,
        "author_association": "NONE",
        "body": body,
        "performed_via_github_app": None,
        "event": "commented",
        "actor": author,
    }


def app(id: int, slug: str) -> dict[str, Any]:  # noqa: A002
    """A GitHub App."""
    return {
        "id": id,
        "slug": slug,
        "node_id": f"A_{id}",
        "owner": account("octocat", 583231),
        "name": slug.capitalize(),
        "description": None,
        "external_url": "https://example.org",
        "html_url": f"{WEB}/apps/{slug}",
        "created_at": TIME,
        "updated_at": TIME,
        "permissions": {"issues": "write", "metadata": "read", "contents": "read"},
        "events": ["issues", "issue_comment"],
    }


def reaction(id: int, author: dict[str, Any], content: str) -> dict[str, Any]:  # noqa: A002
    """A reaction on a comment."""
    return {"id": id, "node_id": f"REA_{id}", "user": author, "content": content, "created_at": TIME}


def comparison(repository: str, base: str, head: str, start: str, files: Sequence[str]) -> dict[str, Any]:
    """A branch compared with the one that it left at `start`."""
    page, url = f"{WEB}/{repository}/compare/{base}...{head}", f"{API}/repos/{repository}/compare/{base}...{head}"
    diffs = [
        {
            "sha": "0" * 40,
            "filename": name,
            "status": "modified",
            **dict.fromkeys(("additions", "deletions", "changes"), 1),
            "blob_url": f"{WEB}/{repository}/blob/{head}/{name}",
            "raw_url": f"{WEB}/{repository}/raw/{head}/{name}",
            "contents_url": f"{API}/repos/{repository}/contents/{name}?ref={head}",
        }
        for name in files
    ]
    return {
        "url": url,
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": commit(repository, base),
        "merge_base_commit": commit(repository, start),
        "status": "ahead" if start == base else "diverged",
        "ahead_by": 1,
        "behind_by": int(start != base),
        "total_commits": 1,
        "commits": [commit(repository, head)],
        "files": diffs,
    }


def commit(repository: str, sha: str) -> dict[str, Any]:
    """A commit."""
    url, person = f"{API}/repos/{repository}/commits/{sha}", {"name": "A", "email": "a@example.org", "date": TIME}
    git = f"{API}/repos/{repository}/git"
    return {
        "url": url,
        "sha": sha,
        "node_id": f"C_{sha}",
        "html_url": f"{WEB}/{repository}/commit/{sha}",
        "comments_url": f"{url}/comments",
        "commit": {
            "url": f"{git}/commits/{sha}",
            "author": person,
            "committer": person,
            "message": "Change it",
            "comment_count": 0,
            "tree": {"sha": "0" * 40, "url": f"{git}/trees/{'0' * 40}"},
        },
        "author": None,
        "committer": None,
        "parents": [],
    }


def check_run(repository: str, id: int, given: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    """A check run that was asked for with `given`."""
    url = f"{API}/repos/{repository}/check-runs/{id}"
    output = {key: given["output"].get(key) for key in ("title", "summary", "text")}
    return {
        "id": id,
        "node_id": f"CR_{id}",
        "head_sha": given["head_sha"],
        "external_id": "",
        "url": url,
        "html_url": f"{WEB}/{repository}/runs/{id}",
        "details_url": None,
        "status": given["status"],
        "conclusion": given["conclusion"],
        "started_at": TIME,
        "completed_at": TIME,
        "output": {
            **output,
            "annotations_count": len(given["output"]["annotations"]),
            "annotations_url": f"{url}/annotations",
        },
        "name": given["name"],
        "check_suite": {"id": 1},
        "app": None,
        "pull_requests": [],
    }


def hook_delivery(id: int, guid: str, status_code: int, at: float, *, again: bool) -> dict[str, Any]:  # noqa: A002
    """An attempt to hand a delivery to an App's webhook."""
    return {
        "id": id,
        "guid": guid,
        "delivered_at": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "redelivery": again,
        "duration": 0.1,
        "status": "OK" if status_code < 300 else "Invalid HTTP Response",
        "status_code": status_code,
        "event": "issues",
        "action": "opened",
        "installation_id": 1,
        "repository_id": 1,
        "throttled_at": None,
    }
