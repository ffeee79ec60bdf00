"""Experiments around Distriage: they made the figures of the documentation. No part of the wheel."""
