"""The maintainers' triage queue: pages under /queue, made by the server. Reads and writes the store. Asks GitHub who
logs in and whether an issue exists, and writes nothing there.
"""
