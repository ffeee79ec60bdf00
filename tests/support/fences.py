"""Blocks of code and tracebacks, as they stand in reports."""

from __future__ import annotations

TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main
    return _run_code(code, main_globals, None,
  File "/home/u/project/train.py", line 10, in main
    engine.step()
  File "/opt/site-packages/deepspeed/runtime/engine.py", line 2100, in step
    self._take_model_step(lr_kwargs)
  File "/opt/site-packages/deepspeed/runtime/zero/stage3.py", line 2001, in step
    self.check_overflow()
RuntimeError: CUDA error: an illegal memory access was encountered
"""


def fenced(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"
