"""A repository's own labels from its past issues: `distriage learn`. Needs scikit-learn; PyTorch only to
compare with SetFit (`peers.py`).
"""
