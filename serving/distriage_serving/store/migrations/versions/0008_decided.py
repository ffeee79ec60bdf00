"""What people decided on an axis stands beside what the model said, for filters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column, and fill it from the reviews that stand."""
    op.add_column("verdict_axes", sa.Column("decided", sa.Text))
    standing = """
        FROM reviews JOIN verdicts
        ON reviews.repository = verdicts.repository AND reviews.number = verdicts.number
        WHERE verdicts.id = verdict_axes.verdict_id AND reviews.axis = verdict_axes.axis
        AND reviews.undone_at IS NULL
    """
    newest = f"SELECT coalesce(reviews.label, '') {standing} ORDER BY reviews.at DESC, reviews.id DESC LIMIT 1"
    op.execute(f"UPDATE verdict_axes SET decided = ({newest}) WHERE EXISTS (SELECT 1 {standing})")
