"""Who takes an issue, and rows of own labels for the filters."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the columns and an index, and the rows from the stored verdicts and the standing reviews."""
    op.add_column("acts", sa.Column("assignee", sa.Text))
    op.add_column("issues", sa.Column("assignee", sa.Text, nullable=False, server_default=""))
    op.create_index("issues_assignee", "issues", ["assignee", "state", "status"])
    connection = op.get_bind()
    said = ("verdict_id", "axis", "label", "probability", "outcome")
    kept = ("labelled", "standing", "decided", "requires_axis", "requires_label")
    axes = sa.table("verdict_axes", *map(sa.column, said + kept))
    reviewed = """
        SELECT reviews.axis, coalesce(reviews.label, '') FROM reviews WHERE reviews.repository = :repository
        AND reviews.number = :number AND reviews.undone_at IS NULL ORDER BY reviews.at, reviews.id
    """
    latest = """
        SELECT verdicts.id, verdicts.repository, verdicts.number, verdicts.verdict FROM verdicts
        JOIN issues ON issues.verdict_id = verdicts.id WHERE verdicts.verdict LIKE '%"own": [{%'
    """
    for verdict_id, repository, number, text in connection.execute(sa.text(latest)).all():
        place = {"repository": repository, "number": number}
        person: dict[str, str] = dict(connection.execute(sa.text(reviewed), place).tuples().all())
        for own in json.loads(text)["own"]:
            axis, label = f"own:{own['label']}", own["label"] if own["applied"] else ""
            row = {"verdict_id": verdict_id, "axis": axis, "label": label, "probability": own["probability"]}
            standing = {"standing": person.get(axis, label), "decided": axis in person, "labelled": False}
            outcome = "apply" if own["applied"] else "abstain"
            connection.execute(
                axes.insert(), row | standing | {"outcome": outcome, "requires_axis": "", "requires_label": ""}
            )
