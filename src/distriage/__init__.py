"""Distriage: what kind of distributed-training failure is this issue about, and what fixes such failures?"""

import os

__version__ = "0.1.0"

# onnxruntime's wheels for Linux otherwise write a device id and usage events for Microsoft into ~/.cache as soon as they are imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
