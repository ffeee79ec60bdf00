"""The text recipe: a report's text for the model. A change of any output here needs a new `RECIPE_VERSION`."""
