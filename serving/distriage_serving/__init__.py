"""Distriage at work: the HTTP endpoint (`distriage serve`) and what acts on GitHub. Needs the extra `serve`."""
