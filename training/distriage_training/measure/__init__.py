"""How good a model is: scores, baselines, peers, studies."""
