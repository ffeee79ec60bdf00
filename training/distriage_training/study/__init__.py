"""The study of a tracker as a whole: how often what fails, where, why and what mends it."""
