"""The peers of `bench` in this process: each by itself would import PyTorch anew.

What runs no PyTorch still gets a process of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from distriage_research.bench import child
from distriage_research.bench.run import in_child

ALONE = {"past"}


def measured(task: str, **arguments: Any) -> Any:
    """`in_child`, whose arguments and answer pass through JSON."""
    if task in ALONE:
        return in_child(task, **arguments)
    given = json.loads(json.dumps(arguments, default=str))
    return json.loads(json.dumps(child.TASKS[task](Path(given["bundle"]), given)))
