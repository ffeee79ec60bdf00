"""When an issue was last read as a whole, apart from when it last changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add it; until now both were one."""
    op.add_column("issues", sa.Column("looked_at", sa.Double, nullable=False, server_default="0"))
    op.execute("UPDATE issues SET looked_at = updated_at")
