"""infinity-emb, a server of the encoder alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distriage_training.bench.load import free_port, server


@contextmanager
def started(command: str, encoder: Path, log: Path) -> Iterator[str]:
    """infinity-emb, at an address or started by a command line such as `venv/bin/infinity_emb`; its address."""
    if command.startswith(("http://", "https://")):
        yield command.rstrip("/")
        return
    port = free_port()
    options = ["v2", "--model-id", str(encoder), "--served-model-name", "encoder", "--port", str(port)]
    options += ["--device", "cpu", "--engine", "torch", "--no-bettertransformer", "--url-prefix", ""]
    settings = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0", "PYTHONPATH": ""}
    url = f"http://127.0.0.1:{port}"
    with server([*shlex.split(command), *options], url, "/health", log, settings) as address:
        yield address
