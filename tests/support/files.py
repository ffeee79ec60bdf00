"""Files that a test damages."""

import zipfile
from pathlib import Path


def rewrite(file: Path, content: bytes) -> None:
    """Replace a file that may be a link to the original."""
    file.unlink()
    file.write_bytes(content)


def spoil(archive: Path, member: str) -> None:
    """Give the first deflate block of a member a type that there is not."""
    with zipfile.ZipFile(archive) as packed:
        start = packed.getinfo(member).header_offset
    content = bytearray(archive.read_bytes())
    sizes = content[start + 26 : start + 30]  # of the name and the extra field
    content[start + 30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little")] = 0xFF
    rewrite(archive, bytes(content))


def mark_encrypted(archive: Path) -> None:
    """Say of each member that it needs a password."""
    content = bytearray(archive.read_bytes())
    start = content.find(b"PK\x01\x02")  # the central directory
    while start >= 0:
        content[start + 8] |= 1
        start = content.find(b"PK\x01\x02", start + 4)
    rewrite(archive, bytes(content))
