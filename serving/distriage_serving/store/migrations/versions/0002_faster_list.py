"""Indexes for filters of the list that read each open issue: by labels, by outcome, and needs an answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ORDERS = {
    "issues_priority": ["state", "status", "priority", "repository", "number"],
    "issues_created": ["state", "status", "created_at", "repository", "number"],
    "issues_of_repository": ["repository", "state", "status", "priority", "number"],
}


def upgrade() -> None:
    """Make them."""
    for name, columns in ORDERS.items():
        op.drop_index(name, "issues")
        op.create_index(name, "issues", [*columns, "verdict_id"])
    op.create_index("verdict_axes_outcome", "verdict_axes", ["outcome", "decided", "verdict_id", "axis"])
    op.create_index("issues_verdict", "issues", ["verdict_id"])
    op.create_index("verdict_axes_standing", "verdict_axes", ["axis", "standing", "verdict_id"])
    answered = sa.text("waits_since > created_at")
    columns = ["state", "waits_since", "repository", "number", "created_at"]
    op.create_index("issues_answered", "issues", columns, sqlite_where=answered, postgresql_where=answered)
