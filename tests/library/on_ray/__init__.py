"""Tests that need Ray: one node for all of them, which ends with the last."""
