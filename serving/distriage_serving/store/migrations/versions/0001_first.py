"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _work() -> list[sa.Column[object]]:
    return [
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("issue", _INTEGER),
        sa.Column("installation_id", _INTEGER),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", _INTEGER, nullable=False),
        sa.Column("due_at", sa.Double),
        sa.Column("lease_owner", sa.Text),
        sa.Column("last_error", sa.Text),
        sa.Column("finished_at", sa.Double),
    ]


def upgrade() -> None:
    """Make them all."""
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("received_at", sa.Double, nullable=False),
        sa.Column("body_sha256", sa.Text, unique=True),
        *_work(),
    )
    op.create_index("deliveries_due", "deliveries", ["due_at"])
    op.create_index("deliveries_state", "deliveries", ["state", "received_at"])

    op.create_table(
        "jobs",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("lane", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("argument", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        *_work(),
        sqlite_autoincrement=True,
    )
    op.create_index("jobs_due", "jobs", ["due_at"])
    op.create_index("jobs_state", "jobs", ["state", "created_at"])
    op.create_index("jobs_lane_due", "jobs", ["lane", "due_at"])
    for name, column, state in (("jobs_key_waiting", "key", "waiting"), ("jobs_lane_leased", "lane", "leased")):
        where = sa.text(f"state = '{state}'")
        op.create_index(name, "jobs", [column], unique=True, sqlite_where=where, postgresql_where=where)

    op.create_table(
        "writes",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("installation_id", _INTEGER, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("writes_at", "writes", ["installation_id", "at"])

    op.create_table(
        "repositories",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("display_name", sa.Text, nullable=False),
        sa.Column("installation_id", _INTEGER),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("config_error", sa.Text),
        sa.Column("reconciled_at", sa.Double),
        sa.Column("reconcile_refused_at", sa.Double),
        sa.Column("no_suggestions_until", sa.Double),
        sa.Column("polled_at", sa.Double),
        sa.Column("labels", sa.Text, nullable=False),
    )

    op.create_table(
        "issues",
        sa.Column("repository", sa.Text, primary_key=True),
        sa.Column("number", _INTEGER, primary_key=True, autoincrement=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("issue_type", sa.Text),
        sa.Column("assignee", sa.Text, nullable=False),
        sa.Column("comments", _INTEGER, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("waits_since", sa.Double, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("priority", sa.Double, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("held", sa.Boolean, nullable=False),
        sa.Column("verdict_id", _INTEGER),
    )
    op.create_index("issues_priority", "issues", ["state", "status", "priority", "repository", "number"])
    op.create_index("issues_created", "issues", ["state", "status", "created_at", "repository", "number"])
    op.create_index("issues_assignee", "issues", ["assignee", "state", "status"])
    op.create_index("issues_waits", "issues", ["state", "waits_since", "repository", "number"])
    op.create_index("issues_of_repository", "issues", ["repository", "state", "status", "priority", "number"])

    op.create_table(
        "verdicts",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", _INTEGER, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("taxonomy_version", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("made_at", sa.Double, nullable=False),
        sa.Column("week_at", _INTEGER, nullable=False),
        sa.Column("carried_out_at", sa.Double),
        sa.ForeignKeyConstraint(["repository", "number"], ["issues.repository", "issues.number"], ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("verdicts_issue", "verdicts", ["repository", "number"])
    op.create_index("verdicts_made", "verdicts", ["made_at"])

    verdict = sa.ForeignKey("verdicts.id", ondelete="CASCADE")
    op.create_table(
        "verdict_axes",
        sa.Column("verdict_id", _INTEGER, verdict, primary_key=True, autoincrement=False),
        sa.Column("axis", sa.Text, primary_key=True),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("labelled", sa.Boolean, nullable=False),
        sa.Column("standing", sa.Text, nullable=False),
        sa.Column("decided", sa.Boolean, nullable=False),
        sa.Column("requires_axis", sa.Text, nullable=False),
        sa.Column("requires_label", sa.Text, nullable=False),
    )

    op.create_table(
        "reviews",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", _INTEGER, nullable=False),
        sa.Column("axis", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("predicted_label", sa.Text),
        sa.Column("probability", sa.Double),
        sa.Column("model", sa.Text),
        sa.Column("verdict_id", _INTEGER),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("how", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("undone_at", sa.Double),
        sa.UniqueConstraint("repository", "number", "axis", "who", "how", "at", name="reviews_event"),
        sqlite_autoincrement=True,
    )
    op.create_index("reviews_at", "reviews", ["at"])

    op.create_table(
        "acts",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", _INTEGER, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("duplicate_of", _INTEGER),
        sa.Column("until", sa.Double),
        sa.Column("assignee", sa.Text),
        sa.Column("text", sa.Text),
        sa.Column("undone_at", sa.Double),
        sa.Column("carried_out", sa.Boolean, nullable=False),
        sa.Column("refused", sa.Text),
        sa.Column("answer", sa.Text),
        sa.Column("answered_at", sa.Double),
        sqlite_autoincrement=True,
    )
    op.create_index("acts_issue", "acts", ["repository", "number"])
    op.create_index("acts_who", "acts", ["who", "at"])

    op.create_table(
        "suggestions",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", _INTEGER, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("target_id", _INTEGER),
        sa.Column("axis", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("held", sa.Boolean, nullable=False),
        sa.Column("github_id", _INTEGER),
        sa.Column("event_id", _INTEGER),
        sa.Column("resolved_by", _INTEGER),
        sa.Column("who", sa.Text),
        sa.Column("decided_at", sa.Double),
        sa.Column("polled_at", sa.Double, nullable=False),
        sa.UniqueConstraint("repository", "number", "action", "axis", "value", name="suggestions_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("suggestions_state", "suggestions", ["repository", "state", "polled_at"])

    op.create_table(
        "past_repositories",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("revision", _INTEGER, nullable=False),
        sa.Column("begun_at_revision", _INTEGER, nullable=False),
    )
    op.create_table(
        "past_issues",
        sa.Column("repository", sa.Text, primary_key=True),
        sa.Column("number", _INTEGER, primary_key=True, autoincrement=False),
        sa.Column("github_id", _INTEGER, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("closed_by", sa.Text, nullable=False),
        sa.Column("filed_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary),
        sa.Column("revision", _INTEGER, nullable=False),
        sa.Column("closed_at", sa.Double, nullable=False),
        sa.Column("milestone", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("reactions", _INTEGER, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
    )
    op.create_index("past_issues_revision", "past_issues", ["repository", "revision"])

    op.create_table(
        "readings",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("reader", sa.Text, primary_key=True),
        sa.Column("shares", sa.Text, nullable=False),
        sa.Column("note", sa.Text),
        sa.Column("made_at", sa.Double, nullable=False),
    )
    op.create_table(
        "reader_days",
        sa.Column("day", _INTEGER, primary_key=True, autoincrement=False),
        sa.Column("requests", _INTEGER, nullable=False),
        sa.Column("tokens", _INTEGER, nullable=False),
    )
    op.create_table(
        "reader_results",
        sa.Column("result", sa.Text, primary_key=True),
        sa.Column("requests", _INTEGER, nullable=False),
    )

    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("csrf", sa.Text, nullable=False),
        sa.Column("credential", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ends_at", sa.Double, nullable=False),
        sa.Column("repositories", sa.Text, nullable=False),
    )
    op.create_table(
        "shared_values",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
