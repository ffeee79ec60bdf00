"""The past issues of repositories."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
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
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("closed_by", sa.Text, nullable=False),
        sa.Column("filed_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary),
        sa.Column("revision", _INTEGER, nullable=False),
    )
    op.create_index("past_issues_revision", "past_issues", ["repository", "revision"])
