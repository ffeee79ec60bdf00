"""Suggestions on GitHub, and whether a repository takes them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table, and add the column."""
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
    op.add_column("repositories", sa.Column("no_suggestions_until", sa.Double))
