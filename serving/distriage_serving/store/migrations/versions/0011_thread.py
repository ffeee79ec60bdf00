"""Ids of past issues, the hourly look at suggestions, an issue's comments, and questions to its author."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns and an index. As far as is known, each author waits since the issue was filed."""
    op.add_column("past_issues", sa.Column("github_id", _INTEGER, nullable=False, server_default="0"))
    op.add_column("repositories", sa.Column("polled_at", sa.Double))
    op.add_column("issues", sa.Column("comments", _INTEGER, nullable=False, server_default="0"))
    op.add_column("issues", sa.Column("waits_since", sa.Double, nullable=False, server_default="0"))
    op.execute("UPDATE issues SET waits_since = created_at")
    op.create_index("issues_waits", "issues", ["state", "status", "waits_since", "repository", "number"])
    op.add_column("acts", sa.Column("text", sa.Text))
    op.add_column("acts", sa.Column("answer", sa.Text))
    op.add_column("acts", sa.Column("answered_at", sa.Double))
