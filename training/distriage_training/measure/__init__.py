"""The quality of a model: scores, baselines, readers' agreement."""
