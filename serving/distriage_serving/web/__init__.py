"""Everything around an HTTP request: limits, keys, errors, metrics, the engine, and the classification routes."""
