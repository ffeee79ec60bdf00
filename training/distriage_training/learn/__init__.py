"""A repository's own labels from its past issues: `distriage learn`. Needs scikit-learn, no PyTorch."""
