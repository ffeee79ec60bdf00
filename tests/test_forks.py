"""`pytest --forks`: what its processes find reaches the one that prints it, also where one of them dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = """
import os
import pytest
from support import forks

COLLECTED_BY = os.getpid()

def pytest_runtestloop(session):
    forks.run(session, 2, lambda nodeid: nodeid.partition("::")[0])
    return True

@pytest.fixture(scope="session")
def place(tmp_path_factory):
    yield tmp_path_factory.getbasetemp()
    with (tmp_path_factory.getbasetemp() / "ended").open("a") as stream:
        stream.write("x")

def pytest_unconfigure():
    print("in", os.getpid() == COLLECTED_BY)
"""
TESTS = """
import os, signal
from pathlib import Path

def test_runs_elsewhere(place):
    import conftest
    assert os.getpid() != conftest.COLLECTED_BY
    print("seen")

def test_fails(place):
    print("what was printed")
    assert Path("nowhere").exists()

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_goes_on(place):
    pass
"""


def test_what_children_find_is_reported(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_one.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "test_two.py").write_text("def test_passes(place): pass\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(tmp_path)])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", f"--basetemp={tmp_path / 'base'}", "-rA"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 3 passed" in done.stdout
    assert "what was printed" in done.stdout and "test_fails - AssertionError" in done.stdout
    assert "the process of this test ended with -9" in done.stdout
    assert done.stdout.count("in True") == 1
    assert (tmp_path / "base" / "ended").read_text(encoding="utf-8") == "xx"
