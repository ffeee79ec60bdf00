from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from distriage.base.errors import BundleError, ConfigError, InputError
from distriage.base.types import IssueReport
from distriage.classifier import Classifier
from distriage_serving.configuration.model import RepositoryConfig
from distriage_serving.judging.indexes import PastIndexes
from distriage_serving.judging.judge import look
from distriage_serving.judging.lane import ClosedError, Lane, LaneJudge, QueueFullError
from distriage_serving.judging.process import ModelError, ModelGoneError, ModelProcess
from distriage_serving.judging.turns import Piece, Turns
from distriage_serving.metrics import Metrics

from support.model_work import (
    die,
    double,
    ignored_signals,
    keep_the_gil,
    meet,
    process_id,
    refuse,
    sleep,
    wait_for,
)
from support.waiting import until

OPTIONS: dict[str, Any] = {"processes": 1, "capacity": 8, "deadline_s": 5}


@pytest.fixture(scope="module")
def process(keyword_bundle: Path) -> Iterator[ModelProcess]:
    started = ModelProcess(partial(Classifier, keyword_bundle, threads=1), 0.5)
    yield started
    started.stop()


@pytest.fixture
def lane(keyword_bundle: Path) -> Iterator[Lane]:
    opened = Lane(partial(Classifier, keyword_bundle, threads=1), **OPTIONS)
    yield opened
    opened.close()


# ---------------------------------------------------------------- one process


def test_a_process_is_started_once_and_answers(process: ModelProcess) -> None:
    assert process.run(double, 21) == 42
    first = process.run(process_id)
    assert first == process.run(process_id) != os.getpid()
    assert process.run(ignored_signals) == [True, True]


def test_a_failure_comes_back_without_the_words_of_a_report(process: ModelProcess) -> None:
    with pytest.raises(ModelError, match=r"^ValueError at model_work\.py:\d+$"):
        process.run(double, 13)
    with pytest.raises(ConfigError, match="so it is configured"):
        process.run(refuse)


def test_work_that_keeps_the_gil_is_ended_by_the_kernel_and_the_next_one_works(process: ModelProcess) -> None:
    before = process.run(process_id)
    with pytest.raises(InputError, match=r"more than 0\.5 s of computing time"):
        process.run(keep_the_gil)
    assert process.run(double, 1) == 2 and process.run(process_id) != before


def test_the_deadline_counts_the_work_and_not_the_wait(process: ModelProcess) -> None:
    process.run(sleep, 0.8)  # another's turn on a busy machine


def test_a_process_that_dies_is_replaced(process: ModelProcess) -> None:
    with pytest.raises(ModelGoneError, match="ended with -9"):
        process.run(die)
    assert process.run(double, 2) == 4


def test_a_process_that_died_while_it_waited_is_replaced_unseen(process: ModelProcess) -> None:
    os.kill(process.run(process_id), signal.SIGKILL)
    until(lambda: not process._process.is_alive())
    assert process.run(double, 2) == 4


def test_a_model_that_cannot_be_loaded_again_is_no_fault_of_the_report(tmp_path: Path) -> None:
    with pytest.raises(ModelGoneError, match=r"bundle\.json"):
        ModelProcess(partial(Classifier, tmp_path), 1).run(double, 2)


@pytest.mark.slow
def test_a_process_that_neither_works_nor_answers_is_ended(keyword_bundle: Path) -> None:
    asleep = ModelProcess(partial(Classifier, keyword_bundle, threads=1), 0.5)
    with pytest.raises(InputError, match="computing time"):
        asleep.run(sleep, 60)
    assert asleep.run(double, 2) == 4
    asleep.stop()


def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"bundle\.json"):
        ModelProcess(partial(Classifier, tmp_path), 1).start()
    with pytest.raises(BundleError, match="ended with 3"):
        ModelProcess(partial(os._exit, 3), 1).start()


# ---------------------------------------------------------------- the queue before processes


def test_reports_are_worked_on_one_at_a_time_in_order(lane: Lane, tmp_path: Path) -> None:
    futures = lane.submit(wait_for, [(tmp_path / "gate", number) for number in range(4)])
    until(lambda: lane.waiting == 3)
    (tmp_path / "gate").touch()
    assert [future.result() for future in futures] == [0, 2, 4, 6]
    assert (tmp_path / "calls").read_text() == "0 1 2 3 " and lane.waiting == 0


def test_several_processes_share_the_work(keyword_bundle: Path, tmp_path: Path) -> None:
    lane = Lane(partial(Classifier, keyword_bundle, threads=1), **{**OPTIONS, "processes": 2})
    first, second = lane.submit(meet, [(tmp_path, 0, 1), (tmp_path, 1, 0)])
    assert first.result() != second.result()
    lane.close()


def test_a_full_queue_refuses_all_pieces_of_a_request_and_says_when_to_come_back(
    keyword_bundle: Path, tmp_path: Path
) -> None:
    lane = Lane(partial(Classifier, keyword_bundle, threads=1), **{**OPTIONS, "capacity": 3})
    gate = tmp_path / "gate"
    first = lane.submit(wait_for, [(gate, 0)])
    until(lambda: lane.waiting == 0)
    second = lane.submit(wait_for, [(gate, 1), (gate, 2)])
    with pytest.raises(QueueFullError) as refused:
        lane.submit(double, [(3,), (4,)])
    assert 1 <= refused.value.retry_after_s <= 60
    second[1].cancel()
    assert lane.waiting == 1
    third = lane.submit(double, [(3,), (4,)])  # into the room that the cancelled one held
    gate.touch()
    assert [future.result() for future in (*first, second[0], *third)] == [0, 2, 6, 8]
    assert (tmp_path / "calls").read_text() == "0 1 "
    lane.close()


def test_requests_take_turns_and_the_oldest_has_every_second_one(lane: Lane, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = lane.submit(wait_for, [(gate, 0)])
    until(lambda: lane.waiting == 0)
    batch = lane.submit(wait_for, [(gate, number) for number in range(1, 5)])
    singles = [lane.submit(wait_for, [(gate, number)])[0] for number in (10, 11, 12)]
    assert lane.submit(wait_for, []) == []
    singles[1].cancel()
    gate.touch()
    assert [future.result() for future in (*first, *batch, singles[0], singles[2])] == [0, 2, 4, 6, 8, 20, 24]
    assert (tmp_path / "calls").read_text() == "0 10 1 12 2 3 4 "


def queued(turns: Turns, pieces: int) -> list[Piece]:
    request = [Piece(double, (), 0.0) for _ in range(pieces)]
    turns.add(request)
    return request


@pytest.mark.parametrize(
    ("sizes", "pieces"), [([], 5), ([64], 20), ([20], 64), ([64, 64], 20), ([64] * 4, 20), ([64] * 7, 1), ([1, 9], 3)]
)
def test_the_turns_before_a_new_request_are_reckoned(sizes: list[int], pieces: int) -> None:
    turns = Turns()
    for size in sizes:
        queued(turns, size)
    reckoned = turns.before(pieces)
    new = queued(turns, pieces)
    before = 0
    while turns.next() is not new[-1]:
        before += 1
    assert reckoned + pieces - 1 == pytest.approx(before, rel=0.1, abs=1)


def test_what_is_dropped_has_no_turn() -> None:
    turns = Turns()
    first, second, third = (queued(turns, 3) for _ in range(3))
    for piece in (*first, second[1], third[0]):
        turns.drop(piece)
        turns.drop(piece)
    third[1].future.cancel()  # by another thread, which has not dropped it yet
    assert (turns.waiting, turns.before(9)) == (4, 4)
    assert [turns.next() for _ in range(4)] == [second[0], third[2], second[2], None]
    assert (turns.waiting, turns.before(9)) == (0, 0)


def test_a_request_whose_turns_would_come_too_late_is_refused(keyword_bundle: Path, tmp_path: Path) -> None:
    lane = Lane(partial(Classifier, keyword_bundle, threads=1), **{**OPTIONS, "capacity": 99}, patience_s=1)
    for future in lane.submit(sleep, [(0.3,)] * 2):  # a report takes about 0.1 s, as far as is known
        future.result()
    gate = tmp_path / "gate"
    first = lane.submit(wait_for, [(gate, 0)])
    until(lambda: lane.waiting == 0)
    alone = lane.submit(wait_for, [(gate, 1)] * 20)
    with pytest.raises(QueueFullError) as refused:
        lane.submit(double, [(1,)] * 6)
    assert refused.value.retry_after_s == 2
    single = lane.submit(double, [(1,)])
    gate.touch()
    assert single[0].result() == 2 and len([future.result() for future in (*first, *alone)]) == 21
    lane.close()


def test_the_time_of_a_report_is_neither_that_of_a_slow_one_nor_of_loading_the_model(
    keyword_bundle: Path, tmp_path: Path
) -> None:
    lane = Lane(partial(Classifier, keyword_bundle, threads=1), **{**OPTIONS, "capacity": 99}, patience_s=1)
    for _ in range(20):
        lane.submit(double, [(1,)])[0].result()
    with pytest.raises(ModelGoneError):
        lane.submit(die, [()])[0].result()
    lane.submit(sleep, [(2.0,)])[0].result()
    gate = tmp_path / "gate"
    first = lane.submit(wait_for, [(gate, 0)])
    until(lambda: lane.waiting == 0)
    others = [lane.submit(double, [(1,)] * 20) for _ in range(2)]
    gate.touch()
    assert first[0].result() == 0 and {future.result() for other in others for future in other} == {2}
    lane.close()


def test_threads_are_let_in_where_requests_are_refused(keyword_bundle: Path, keyword_classifier: Classifier) -> None:
    report, config = IssueReport("It hangs", "It hangs.", "1"), RepositoryConfig()
    lane = Lane(partial(Classifier, keyword_bundle, threads=1), **{**OPTIONS, "capacity": 0})
    metrics = Metrics()
    ask = LaneJudge(lane, lane.start(), PastIndexes(None), metrics)
    with pytest.raises(QueueFullError):
        lane.submit(double, [(1,)])
    assert ask.look(report, config).verdict == look(keyword_classifier, report, config).verdict
    assert ask.bundle.manifest == keyword_classifier.bundle.manifest
    ask.look(report, config, axes=["kind"])
    assert 'distriage_reports_total{result="classified"} 2.0' in metrics.text().decode()
    lane.close()


def test_a_report_of_the_bot_that_is_given_up_is_counted_and_logged(
    keyword_bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lane = Lane(partial(Classifier, keyword_bundle, threads=1), **{**OPTIONS, "deadline_s": 0.001})
    metrics = Metrics()
    ask = LaneJudge(lane, lane.start(), PastIndexes(None), metrics)
    with pytest.raises(InputError, match="takes more than"):
        ask.look(IssueReport("zebra hangs", "zebra " * 9000, "o/r#1"), RepositoryConfig())
    assert 'distriage_reports_total{result="failed"} 1.0' in metrics.text().decode()
    assert [record.message for record in caplog.records] == ["report_given_up"]
    lane.close()


def test_closing_finishes_what_is_queued_and_takes_no_more(keyword_bundle: Path) -> None:
    seen: list[tuple[float, float]] = []
    lane = Lane(
        partial(Classifier, keyword_bundle, threads=1), **OPTIONS, observe=lambda wait_s, s: seen.append((wait_s, s))
    )
    futures = lane.submit(sleep, [(0.1,)] * 3)
    lane.close()
    assert all(future.done() for future in futures)
    assert len(seen) == 3 and all(wait_s >= 0 and work_s >= 0.1 for wait_s, work_s in seen)
    with pytest.raises(ClosedError):
        lane.submit(double, [(2,)])
    with pytest.raises(ClosedError):
        lane.call(double, 2)
