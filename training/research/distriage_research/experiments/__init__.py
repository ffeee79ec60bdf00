"""Experiments around an evaluation: each keeps what it has measured, so that it can be interrupted."""
