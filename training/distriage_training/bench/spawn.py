"""Each measurement in a process of its own: one contestant's threads and memory must not be another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from distriage.base.errors import DistriageError


def in_child(task: str, *, module: str = "distriage_training.bench.child", **arguments: Any) -> Any:
    """The figures of a task of `module`, found on this process's path.

    Raises:
        DistriageError: its process failed; the last line that it wrote.
    """
    command = [sys.executable, "-m", module, task, json.dumps(arguments, default=str)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=places)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise DistriageError(said[-1] if said else f"measuring {task}: the process ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])
