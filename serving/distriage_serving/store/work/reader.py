"""A second reader's answers and their cost."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Mapped, mapped_column

from distriage_serving.store.database import Database, insert
from distriage_serving.store.schema import Base, JsonValue, values_of

DAY_S = 86400


class ReaderAnswer(Base):
    """A second reader's answer about a report, or why it gave none. Holds no text of the report or the answer.

    Attributes:
        model: The first reader, whose scores the question was based on.
        reader: The second one, and how it was asked; see `SecondReader.manner`.
        shares: A JSON object: axis -> list of [label or None, share]; empty without an answer.
        note: Why an answer is missing.
    """

    __tablename__ = "readings"

    digest: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    reader: Mapped[str] = mapped_column(primary_key=True)
    shares: Mapped[JsonValue]
    note: Mapped[str | None]
    made_at: Mapped[float]


class ReaderDay(Base):
    """A day's questions.

    Attributes:
        day: Days since 1970, UTC.
        tokens: As counted by the endpoint, plus an estimate for requests under way.
    """

    __tablename__ = "reader_days"

    day: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    requests: Mapped[int]
    tokens: Mapped[int]


class ReaderResult(Base):
    """How many questions ended so, ever."""

    __tablename__ = "reader_results"

    result: Mapped[str] = mapped_column(primary_key=True)
    requests: Mapped[int]


class ReaderAnswers(Database):
    """The store's part for the second reader."""

    def get_reader_answer(self, digest: str, model: str, reader: str) -> ReaderAnswer | None:
        """This second reader's answer about a report."""
        wanted = select(ReaderAnswer).where(
            ReaderAnswer.digest == digest, ReaderAnswer.model == model, ReaderAnswer.reader == reader
        )
        return self._first(wanted)

    def save_reader_answer(self, answer: ReaderAnswer) -> None:
        """Keep an answer, replacing the earlier one."""
        values = values_of(answer)
        with self._session(writes=True) as session:
            new = insert(session, ReaderAnswer).values(values)
            key = [ReaderAnswer.digest, ReaderAnswer.model, ReaderAnswer.reader]
            session.execute(new.on_conflict_do_update(index_elements=key, set_=values))

    def take_reader_budget(self, tokens: int, limits: tuple[int | None, int | None]) -> bool:
        """Count a request of that many tokens; False if it exceeds today's budget.

        Args:
            limits: Most requests and most tokens a day; no limit if None.
        """
        day = int(self.clock() // DAY_S)
        counted = update(ReaderDay).where(ReaderDay.day == day)
        for column, more, limit in ((ReaderDay.requests, 1, limits[0]), (ReaderDay.tokens, tokens, limits[1])):
            if limit is not None:
                counted = counted.where(column + more <= limit)
        counted = counted.values(requests=ReaderDay.requests + 1, tokens=ReaderDay.tokens + tokens)
        with self._session(writes=True) as session:
            session.execute(insert(session, ReaderDay).values(day=day, requests=0, tokens=0).on_conflict_do_nothing())
            taken = counted.returning(ReaderDay.day).execution_options(synchronize_session=False)
            return session.scalar(taken) is not None

    def settle_reader_budget(self, tokens: int) -> None:
        """Count a request's tokens beyond the estimate; a negative number gives back."""
        left = ReaderDay.tokens + tokens
        settled = update(ReaderDay).where(ReaderDay.day == int(self.clock() // DAY_S), left >= 0).values(tokens=left)
        self._write(settled.execution_options(synchronize_session=False))

    def count_reader_result(self, result: str) -> None:
        """One more question ended so."""
        with self._session(writes=True) as session:
            new = insert(session, ReaderResult).values(result=result, requests=1)
            more = {"requests": ReaderResult.requests + 1}
            session.execute(new.on_conflict_do_update(index_elements=[ReaderResult.result], set_=more))

    def reader_results(self) -> dict[str, int]:
        """Result -> number of questions with it, over all processes."""
        wanted = select(ReaderResult.result, ReaderResult.requests).order_by(ReaderResult.result)
        with self._session(writes=False) as session:
            return {row.result: row.requests for row in session.execute(wanted)}
