"""Doubles, toys and servers that the tests share."""
