"""The issues that a repository had already: an index of them, and which of them is the same as a new one.

`similar.py` searches the issues that the model was trained on, for what fixed failures of this kind; this package
searches a repository's own, for the same issue.
"""
