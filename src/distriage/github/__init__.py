"""GitHub as a client sees it."""
