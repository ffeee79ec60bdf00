"""Tests of the queue in a real browser: a package, so that one browser serves them all."""
