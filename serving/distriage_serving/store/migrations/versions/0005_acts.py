"""Acts in the queue: close, mark as duplicate, snooze."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table."""
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
        sa.Column("undone_at", sa.Double),
        sa.Column("carried_out", sa.Boolean, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("acts_issue", "acts", ["repository", "number"])
    op.create_index("acts_who", "acts", ["who", "at"])
