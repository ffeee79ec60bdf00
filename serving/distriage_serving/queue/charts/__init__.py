"""How well the model does here, as charts."""
