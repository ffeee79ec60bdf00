"""Distriage at work: the HTTP endpoint (`distriage serve`) and all that acts on GitHub. Needs the extra `serve`."""
