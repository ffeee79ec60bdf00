"""How far a second reader may be trusted: fitted and measured on annotated reports. Needs no extra."""
