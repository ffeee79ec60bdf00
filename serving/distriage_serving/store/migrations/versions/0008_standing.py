"""The standing label of an axis, a person's before the model's, for filters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns, and fill them from the verdicts and the standing reviews."""
    op.add_column("verdict_axes", sa.Column("standing", sa.Text, nullable=False, server_default=""))
    op.add_column("verdict_axes", sa.Column("decided", sa.Boolean, nullable=False, server_default=sa.false()))
    for name in ("requires_axis", "requires_label"):
        op.add_column("verdict_axes", sa.Column(name, sa.Text, nullable=False, server_default=""))
    # According to the packaged taxonomy; with another one, the next verdict states its requirements.
    bugs = "'stage', 'symptom', 'cause', 'fix'"
    op.execute(f"UPDATE verdict_axes SET requires_axis = 'kind', requires_label = 'bug' WHERE axis IN ({bugs})")
    op.execute("UPDATE verdict_axes SET standing = label WHERE outcome <> 'not-applicable'")
    standing = """
        FROM reviews JOIN verdicts
        ON reviews.repository = verdicts.repository AND reviews.number = verdicts.number
        WHERE verdicts.id = verdict_axes.verdict_id AND reviews.axis = verdict_axes.axis
        AND reviews.undone_at IS NULL
    """
    newest = f"SELECT coalesce(reviews.label, '') {standing} ORDER BY reviews.at DESC, reviews.id DESC LIMIT 1"
    op.execute(f"UPDATE verdict_axes SET standing = ({newest}), decided = TRUE WHERE EXISTS (SELECT 1 {standing})")
    unmet = """
        SELECT 1 FROM verdict_axes AS other
        WHERE other.verdict_id = verdict_axes.verdict_id AND other.axis = verdict_axes.requires_axis
        AND other.decided AND other.standing <> verdict_axes.requires_label
    """
    op.execute(f"UPDATE verdict_axes SET standing = '', decided = TRUE WHERE EXISTS ({unmet})")
