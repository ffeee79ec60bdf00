"""One word, one meaning: the model's are `verdicts` (they were `predictions`), people's are `reviews` (they were
`verdicts`).

An issue can wait for its repository's configuration (`held`), an axis knows whether it is labelled, a repository when
it
was last compared with GitHub. Columns that nothing read are gone: `repositories.config_sha` and `seen_at`,
`issues.is_bot`, `verdicts.note`.
"""

from __future__ import annotations

import json
from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SAID_SINCE = {"checks": [], "in_domain": True, "domain_probability": None, "known_problems": []}
_KEPT = "repository, number, axis, label, predicted_label, probability, model"
_EVENT = "who, how, at, undone_at"


def upgrade() -> None:
    """Rename tables, columns and indexes, with all that is in them."""
    _reviews()
    _verdicts()
    _issues()
    op.drop_column("repositories", "config_sha")
    op.drop_column("repositories", "seen_at")
    op.add_column("repositories", sa.Column("reconciled_at", sa.Double))
    op.execute("UPDATE jobs SET kind = 'triage' WHERE kind = 'verdict'")
    _commands()


def _reviews() -> None:
    op.create_table(
        "reviews",
        sa.Column("id", _INTEGER, primary_key=True, autoincrement=True),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", _INTEGER, nullable=False),
        sa.Column("axis", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("predicted_label", sa.Text),
        sa.Column("probability", sa.Double),
        sa.Column("model", sa.Text),
        sa.Column("verdict_id", _INTEGER),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("how", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("undone_at", sa.Double),
        sa.UniqueConstraint("repository", "number", "axis", "who", "how", "at", name="reviews_event"),
        sqlite_autoincrement=True,
    )
    op.execute(
        f"INSERT INTO reviews ({_KEPT}, verdict_id, {_EVENT})"
        f" SELECT {_KEPT}, prediction_id, {_EVENT} FROM verdicts ORDER BY id"
    )
    op.drop_table("verdicts")
    op.create_index("reviews_at", "reviews", ["at"])


def _verdicts() -> None:
    op.drop_index("predictions_issue", "predictions")
    op.drop_index("predictions_made", "predictions")
    _complete()
    op.rename_table("predictions", "verdicts")
    op.rename_table("prediction_axes", "verdict_axes")
    if op.get_bind().dialect.name == "postgresql":
        for old, new in (("predictions_pkey", "verdicts_pkey"), ("prediction_axes_pkey", "verdict_axes_pkey")):
            op.execute(f"ALTER INDEX {old} RENAME TO {new}")
    _rename("verdict_axes", "prediction_id", "verdict_id")
    _switch("verdict_axes", "labelled", on=True)
    op.create_index("verdicts_issue", "verdicts", ["repository", "number"])
    op.create_index("verdicts_made", "verdicts", ["made_at"])


def _complete() -> None:
    """Add first checks and domain to stored verdicts, which lack both."""
    table = sa.table("predictions", sa.column("id", _INTEGER), sa.column("verdict", sa.Text))
    connection = op.get_bind()
    for number, text in connection.execute(sa.select(table.c.id, table.c.verdict)).all():
        new = {**_SAID_SINCE, **json.loads(text)}
        connection.execute(table.update().where(table.c.id == number).values(verdict=json.dumps(new)))


def _issues() -> None:
    op.drop_index("issues_needs", "issues")
    op.drop_index("issues_of_repository", "issues")
    _rename("issues", "needs", "priority")
    _rename("issues", "prediction_id", "verdict_id")
    op.drop_column("issues", "is_bot")
    _switch("issues", "held", on=False)
    op.create_index("issues_priority", "issues", ["state", "status", "priority", "repository", "number"])
    op.create_index("issues_of_repository", "issues", ["repository", "state", "status", "priority", "number"])


def _commands() -> None:
    """A command's job names all lines of its comment, and its time as a number."""
    jobs = sa.table("jobs", sa.column("id", _INTEGER), sa.column("kind", sa.Text), sa.column("argument", sa.Text))
    connection = op.get_bind()
    for number, text in connection.execute(sa.select(jobs.c.id, jobs.c.argument).where(jobs.c.kind == "command")).all():
        old = json.loads(text)
        new = {"comment": old["comment"], "who": old["who"], "lines": [old["line"]], "edited": False}
        new["at"] = datetime.fromisoformat(old["at"]).timestamp()
        connection.execute(jobs.update().where(jobs.c.id == number).values(argument=json.dumps(new)))


def _switch(table: str, column: str, *, on: bool) -> None:
    default = sa.true() if on else sa.false()
    op.add_column(table, sa.Column(column, sa.Boolean, nullable=False, server_default=default))


def _rename(table: str, old: str, new: str) -> None:
    op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")  # alembic renames no column on SQLite
