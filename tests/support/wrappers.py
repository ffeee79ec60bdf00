"""Launchers, log collectors and loggers, as they print the lines of a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

TIME = "2026-11-28T21:24:41.749{:04d}Z"


def _each(prefix: str) -> Callable[[str], str]:
    """A prefix before every line; `{}` in it: the line's number."""

    def wrap(log: str) -> str:
        return "\n".join(prefix.format(number) + line for number, line in enumerate(log.split("\n")))

    return wrap


def _json(log: str) -> str:
    return "\n".join(
        json.dumps({"log": line + "\n", "stream": "stderr", "time": TIME.format(number)})
        for number, line in enumerate(log.split("\n"))
    )


def _loguru_json(log: str) -> str:
    return "\n".join(json.dumps({"level": "ERROR", "rank": 0, "message": line}) for line in log.split("\n"))


def _ansi(log: str) -> str:
    return "\n".join(f"\x1b[36m{line}\x1b[0m" for line in log.split("\n"))


def _overwritten(log: str) -> str:
    return "\n".join(
        f" 40%|####      | 4/10\r 50%|#####     | 5/10\r{line}" if line else "" for line in log.split("\n")
    )


def _deepspeed(log: str) -> str:
    place = "[2026-11-28 21:24:2{},623] [INFO] [launch.py:{}:main] "
    return "\n".join(
        (
            "[2026-11-28 21:24:22,623] [WARNING] [real_accelerator.py:213:get_accelerator] Setting accelerator to CPU. "
            "If you have GPU or other accelerator, we were unable to detect it.",
            place.format(3, 152) + "WORLD INFO DICT: {'localhost': [0, 1]}",
            place.format(3, 170) + "dist_world_size=2",
            log,
            "[2026-11-28 21:24:30,594] [INFO] [launch.py:253:sigkill_handler] Killing subprocess 13454",
            "[2026-11-28 21:24:30,632] [ERROR] [launch.py:259:sigkill_handler] ['/opt/venv/bin/python3', '-u', "
            "'train.py', '--local_rank=1'] exits with return code = 1",
        )
    )


def _accelerate(log: str) -> str:
    return "\n".join(
        (
            "The following values were not passed to `accelerate launch` and had defaults used instead:",
            "\t`--num_machines` was set to a value of `1`",
            "To avoid this warning pass in values for each of the problematic parameters or run `accelerate config`.",
            log,
        )
    )


# Name -> the log as it comes out.
WRAPPERS: Mapping[str, Callable[[str], str]] = {
    "torchrun --tee": _each("[default0]:"),
    "deepspeed": _deepspeed,
    "accelerate": _accelerate,
    "mpirun 4": _each("[1,0]<stderr>:"),
    "mpirun 5": _each("[prterun-node1-4711@1,0]<stderr>:"),
    "horovodrun": _each("[0]<stderr>:"),
    "srun -l": _each("0: "),
    "Ray": _each("\x1b[36m(RayTrainWorker pid=4711, ip=10.0.0.2)\x1b[0m "),
    "kubectl logs --prefix": _each("[pod/trainer-0/main] "),
    "kubectl logs --timestamps": _each("2026-11-28T21:24:41.74900{:04d}Z "),
    "docker compose": _each("worker-1  | "),
    "journald": _each("Nov 28 21:24:41 node1 trainer[4711]: "),
    "pdsh": _each("node1: "),
    "GitHub Actions": _each("2026-11-28T21:24:41.749{:04d}Z "),
    "loguru": _each("2026-11-28 21:24:41.749 | ERROR    | trainer:main:12 - "),
    "logging": _each("2026-11-28 21:24:41,749 - trainer.main - ERROR - "),
    "JSON lines of Docker": _json,
    "JSON lines": _loguru_json,
    "colours": _ansi,
    "carriage returns": _overwritten,
    "Windows": lambda log: log.replace("\n", "\r\n"),
    "kubectl, with time": _each("[pod/trainer-0/main] 2026-11-28T21:24:41.749000000Z "),
}
