"""Files of bundles that a test damages."""

from pathlib import Path


def rewrite(file: Path, content: bytes) -> None:
    """Replace a file that may be a link to the original."""
    file.unlink()
    file.write_bytes(content)
