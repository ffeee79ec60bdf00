"""Experiments around an evaluation. Each keeps its measurements, so it can be interrupted."""
