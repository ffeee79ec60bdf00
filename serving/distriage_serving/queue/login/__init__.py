"""Logging in to the queue: forms and GitHub, failed attempts, sessions."""
