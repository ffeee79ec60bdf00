"""Ray on one node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="package")
def node() -> Iterator[Any]:
    """Ray with a cluster of the tests' own. Six processes of it use CPU even while nothing runs."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'distriage[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # its processes would give way to all other tests
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, configure_logging=False)
        yield ray
        ray.shutdown()
