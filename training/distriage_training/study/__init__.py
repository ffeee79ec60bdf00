"""The study of a whole tracker: failures, their frequency, place, cause and fix."""
