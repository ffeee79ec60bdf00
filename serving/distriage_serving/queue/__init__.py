"""The maintainers' triage queue: pages under /queue, made by the server. Reads and writes the store, never GitHub."""
