"""The peers of `distriage bench` in this process: each by itself would import PyTorch anew.

What runs no PyTorch still gets a process of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from distriage_training.bench import child, spawn

PEERS = {"files", "graphs", "texts", "pipeline"}
OURS = "distriage"


def measured(task: str, **arguments: Any) -> Any:
    """`in_child`, whose arguments and answer pass through JSON."""
    if task not in PEERS and arguments.get("name", OURS) == OURS:
        return spawn.in_child(task, **arguments)
    given = json.loads(json.dumps(arguments, default=str))
    return json.loads(json.dumps(child._TASKS[task](Path(given["bundle"]), given)))
