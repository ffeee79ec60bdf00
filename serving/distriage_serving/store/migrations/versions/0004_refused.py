"""Whether GitHub refused a change that follows from an issue's latest verdict; and an index for jobs of people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add it; until now it stood in the plans alone."""
    op.add_column("issues", sa.Column("refused", sa.Boolean, nullable=False, server_default=sa.false()))
    here, there = sa.text("refused = 1"), sa.text("refused")
    op.create_index("issues_refused", "issues", ["repository", "number"], sqlite_where=here, postgresql_where=there)
    has = """SELECT id FROM verdicts WHERE plan LIKE '%"refused": ["%'"""
    op.create_index("jobs_kind_due", "jobs", ["kind", "due_at"])
    op.execute(f"UPDATE issues SET refused = true WHERE verdict_id IN ({has})")
