"""`distriage serve --demo`: a queue of invented issues in a database that is gone afterwards."""

from __future__ import annotations

import secrets
from pathlib import Path

from distriage.classifier import Classifier
from distriage_serving.demo.fill import demo_reports, fill
from distriage_serving.settings import Settings
from distriage_serving.store import Store


def demo_options(settings: Settings, folder: str) -> dict[str, str]:
    """Settings of a demo: a database in the folder that holds the invented issues, and a token."""
    url = f"sqlite:///{Path(folder, 'demo.db')}"
    token = settings.admin_token.get_secret_value() if settings.admin_token is not None else secrets.token_hex(16)
    with Store.open(url) as store:
        fill(store, Classifier(settings.model, threads=1), demo_reports())
    return {"database": url, "admin_token": token}
