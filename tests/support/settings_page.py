"""docs/settings.md, made from the settings: `python -m support.settings_page` in tests/ writes it anew."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from distriage_serving.http_settings import PREFIX
from distriage_serving.settings import Settings

from support.checkout import REPOSITORY

PAGE = REPOSITORY / "docs" / "settings.md"
BEGIN, END = "<!-- made from serving/distriage_serving/settings.py -->\n", "<!-- end -->\n"


def table() -> str:
    """The settings as a table: variable, default, meaning."""
    lines = ["| variable | default | |", "|---|---|---|"]
    for name, setting in Settings.model_fields.items():
        default = setting.default
        assert setting.description is not None and not isinstance(default, SecretStr)
        shown = "" if default in (None, (), "") else f"`{','.join(default) if isinstance(default, tuple) else default}`"
        lines.append(f"| `{PREFIX}{name.upper()}` | {shown} | {setting.description} |")
    return "\n".join(lines) + "\n"


def page(old: str) -> str:
    """The page with the table as it must be."""
    head, _, rest = old.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    Path(PAGE).write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
