"""The label that stands on an axis, of a person before the model's, for filters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns, and fill them from the verdicts and the reviews that stand."""
    op.add_column("verdict_axes", sa.Column("standing", sa.Text, nullable=False, server_default=""))
    op.add_column("verdict_axes", sa.Column("decided", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute("UPDATE verdict_axes SET standing = label WHERE outcome <> 'not-applicable'")
    standing = """
        FROM reviews JOIN verdicts
        ON reviews.repository = verdicts.repository AND reviews.number = verdicts.number
        WHERE verdicts.id = verdict_axes.verdict_id AND reviews.axis = verdict_axes.axis
        AND reviews.undone_at IS NULL
    """
    newest = f"SELECT coalesce(reviews.label, '') {standing} ORDER BY reviews.at DESC, reviews.id DESC LIMIT 1"
    op.execute(f"UPDATE verdict_axes SET standing = ({newest}), decided = TRUE WHERE EXISTS (SELECT 1 {standing})")
