"""Distriage: what kind of distributed-training failure is this issue about, and what fixes such failures?"""

__version__ = "0.1.0"
