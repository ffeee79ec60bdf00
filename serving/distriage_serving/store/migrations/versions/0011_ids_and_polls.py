"""GitHub's ids of past issues, and the hourly look at suggestions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns."""
    op.add_column("past_issues", sa.Column("github_id", _INTEGER, nullable=False, server_default="0"))
    op.add_column("repositories", sa.Column("polled_at", sa.Double))
