"""Pages of the site that live elsewhere in the repository, and the links between all of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = f"models/{(ROOT / 'models' / 'DEFAULT').read_text(encoding='utf-8').strip()}"
_COPIES = {
    f"{MODEL}/README.md": "evaluation/model-card.md",
    "models/CHANGELOG.md": "evaluation/models.md",
    "training/LOG.md": "evaluation/log.md",
    "training/corpus/README.md": "corpus/index.md",
    "training/corpus/ANNOTATION.md": "corpus/annotation.md",
    "training/corpus/RESTATING.md": "corpus/restating.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "README.md": "index.md",
}
COPIES = {source: page for source, page in _COPIES.items() if (ROOT / source).is_file()}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def copied_pages() -> dict[str, str]:
    """Page of the site -> Markdown."""
    pages = {}
    for source, page in COPIES.items():
        file = ROOT / source
        if page == "index.md":
            continue
        text = _FRONT_MATTER.sub("", file.read_text(encoding="utf-8"))
        pages[page] = relink(text, file, page)
    return pages


def relink(markdown: str, file: Path, page: str) -> str:
    """The Markdown of `file` for `page`: its links lead to other pages, or are plain text where the site has none."""

    def turned(match: re.Match[str]) -> str:
        path, hash_, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", path) or not path:
            return match[0]
        target = (file.parent / path).resolve()
        if not target.is_relative_to(ROOT):
            return match["text"]
        inside = str(target.relative_to(ROOT))
        if inside.startswith("docs/"):
            to = inside.removeprefix("docs/")
        elif inside in COPIES:
            to = COPIES[inside]
        else:
            return match["text"]
        return f"[{match['text']}]({os.path.relpath(to, Path(page).parent)}{hash_}{anchor})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)  # listings stay as they are
    return "".join(part if number % 2 else _LINK.sub(turned, part) for number, part in enumerate(parts))
