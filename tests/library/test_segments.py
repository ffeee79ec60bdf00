"""A report, read into segments."""

from __future__ import annotations

from distriage.segments import Kind, Role, split

BODY = """### Describe the bug
Training stops at the first step.

```bash
torchrun --nproc_per_node 2 train.py
```
```
Traceback (most recent call last):
  File "/x/train.py", line 3, in main
    step()
ValueError: heads must divide by 8
```
### Environment
- OS: Ubuntu 22.04
"""


def test_a_report_is_read_into_segments_in_order() -> None:
    report = split("It stops", BODY)
    assert [segment.kind for segment in report.all] == [
        Kind.TITLE,
        Kind.FORM,
        Kind.COMMAND,
        Kind.TRACEBACK,
        Kind.LISTING,
    ]
    assert [segment.text for segment in report.of(Kind.FORM, Kind.COMMAND)] == [
        "Training stops at the first step.",
        "torchrun --nproc_per_node 2 train.py",
    ]
    assert {segment.heading for segment in report.of(Kind.LISTING)} == {"Environment"}


def test_the_first_error_is_told_with_its_line() -> None:
    error = split("It stops", BODY).first_error
    assert error is not None
    assert (error.text, error.number, error.role) == ("ValueError: heads must divide by 8", 11, Role.INITIATING)
