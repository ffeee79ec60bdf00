"""The text recipe: what a model was trained with. A change of any output here needs a new `RECIPE_VERSION`."""
