"""The table of values that all processes share. Pure."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from distriage_serving.store.schema import Base


class SharedValue(Base):
    """A value that all processes share: the key that signs cookies, the time of the last test whether writing works."""

    __tablename__ = "shared_values"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str] = mapped_column(repr=False)
