"""A repository's past issues: an index of them, and the search for duplicates of a new issue.

`similar.py` searches the issues that the model was trained on, for fixes of similar failures; this package searches a
repository's own, for the same issue.
"""
