"""A second reader's answers, its remaining budget, and the outcomes of questions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the three tables."""
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
