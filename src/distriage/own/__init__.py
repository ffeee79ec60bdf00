"""A repository's own labels: what `distriage learn` wrote is read and used here, without scikit-learn."""
