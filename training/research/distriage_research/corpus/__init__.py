"""Upkeep of the annotated corpus: fetch its texts, add records, check and count them, publish."""
