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
        sa.Column("config_sha", sa.Text),
        sa.Column("seen_at", sa.Double, nullable=False),
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
        sa.Column("is_bot", sa.Boolean, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("needs", sa.Double, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("prediction_id", _INTEGER),
    )
    op.create_index("issues_needs", "issues", ["state", "status", "needs", "repository", "number"])
    op.create_index("issues_created", "issues", ["state", "status", "created_at", "repository", "number"])
    op.create_index("issues_of_repository", "issues", ["repository", "state", "status", "needs", "number"])

    op.create_table(
        "predictions",
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
    op.create_index("predictions_issue", "predictions", ["repository", "number"])
    op.create_index("predictions_made", "predictions", ["made_at"])

    op.create_table(
        "prediction_axes",
        sa.Column(
            "prediction_id",
            _INTEGER,
            sa.ForeignKey("predictions.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("axis", sa.Text, primary_key=True),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
    )

    op.create_table(
        "verdicts",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", _INTEGER, nullable=False),
        sa.Column("axis", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("predicted_label", sa.Text),
        sa.Column("probability", sa.Double),
        sa.Column("model", sa.Text),
        sa.Column("prediction_id", _INTEGER),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("how", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("undone_at", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
        sa.UniqueConstraint("repository", "number", "axis", "who", "how", "at", name="verdicts_event"),
        sqlite_autoincrement=True,
    )
    op.create_index("verdicts_at", "verdicts", ["at"])
