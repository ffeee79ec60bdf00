"""The maintainers' triage queue: pages under /queue, made by the server. Reads and writes the store. Asks GitHub who
logs in and whether an issue is there, and writes nothing to it.
"""
