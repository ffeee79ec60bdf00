"""Indexes for two filters of the list that read each open issue: a decision's outcome, and needs an answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add them."""
    op.create_index("verdict_axes_outcome", "verdict_axes", ["verdict_id", "outcome", "decided", "axis"])
    answered = sa.text("waits_since > created_at")
    columns = ["state", "waits_since", "repository", "number", "created_at"]
    op.create_index("issues_answered", "issues", columns, sqlite_where=answered, postgresql_where=answered)
