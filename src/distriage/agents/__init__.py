"""Tools for coding agents: a server of the Model Context Protocol on standard input and output, which only reads.

A reporter's text is returned under a name that begins with `untrusted`, on one line and cut short.
"""
