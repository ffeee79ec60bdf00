"""Refused parts of an act, an issue's type, and a repository's remembered labels."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("acts", sa.Column("refused", sa.Text))
    op.add_column("issues", sa.Column("issue_type", sa.Text))
    op.add_column("repositories", sa.Column("labels", sa.Text, nullable=False, server_default="null"))
