"""The text recipe: what a model reads of a report. A change of any output here needs a new `RECIPE_VERSION`."""
