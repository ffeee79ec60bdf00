"""When GitHub last refused to list a repository's issues."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column."""
    op.add_column("repositories", sa.Column("reconcile_refused_at", sa.Double))
