"""A report, read once into segments: title, fields of a form, prose, listings, commands, configuration, source, tracebacks, logs.

All else reads the segments: the model's input, facts, questions, checks and evidence.
"""

from distriage.segments.split import split
from distriage.segments.types import Kind, Line, Role, Segment, Segments

__all__ = ["Kind", "Line", "Role", "Segment", "Segments", "split"]
