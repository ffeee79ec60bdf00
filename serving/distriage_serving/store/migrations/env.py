"""Run by alembic: the migrations, in the transaction of the connection given by `migrate`."""

from __future__ import annotations

from alembic import context

from distriage_serving.store.schema import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
context.run_migrations()
