"""Migrations of the database's tables."""
