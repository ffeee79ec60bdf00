"""Weights -> a bundle in `models/`: export, calibration, model card, promotion."""
