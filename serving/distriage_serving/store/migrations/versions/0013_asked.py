"""Questions to an issue's author, and who waits for whom."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns and an index. The threads of known issues are unknown until they are read."""
    op.add_column("issues", sa.Column("comments", _INTEGER, nullable=False, server_default="-1"))
    op.add_column("issues", sa.Column("waits_since", sa.Double, nullable=False, server_default="1e12"))
    op.create_index("issues_waits", "issues", ["state", "waits_since", "repository", "number"])
    for name, kind in (("text", sa.Text), ("answer", sa.Text), ("answered_at", sa.Double)):
        op.add_column("acts", sa.Column(name, kind))
