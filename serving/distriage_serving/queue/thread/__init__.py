"""An issue's thread, read from GitHub when a person opens it."""
