"""Shared by all tests: the command line, a double of GitHub, and models built by the real pipeline.

No test reaches a network, save those marked `container`, which install the project.
"""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

# Before anything loads numpy or torch: threads that wait for each other by spinning cost more than they gain on toys,
# those of the tokenizers do not outlive a fork, and no test may ask the hub.
os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

from distriage.classifier import Classifier
from distriage.commands.main import GC_THRESHOLD, main
from distriage.model.shipped import MANIFEST, default_model

from support import keyword_model, past_issues
from support.checkout import REPOSITORY
from support.command_line import Command, Finished
from support.databases import (  # noqa: F401  # fixtures
    clock,
    database_url,
    empty_store,
    postgresql_server,
    postgresql_tables,
    store,
    store_url,
)
from support.github import CLOSED_PORT, GitHub
from support.graphs import kept_graphs  # noqa: F401  # fixture

settings.register_profile(
    "distriage", derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("distriage")

WAITING_WORKERS = 2
# The longest files come first, or one process would work on them at the end while the others have nothing to do.
LONGEST_FIRST = (
    *("test_container", "test_crash", "test_studies", "browser", "test_bench", "on_ray", "test_other_encoders"),
    *("test_time", "test_whole_path", "test_release", "test_rolling_restart", "test_corpus_view", "test_train"),
    *("test_export", "test_bench_peers", "test_queue_many", "test_install", "test_learn_again", "test_program"),
    *("test_github_requests", "test_request_counts", "test_own_axes", "test_suggestions", "test_train_batches"),
)
PYTORCH = (  # train or export; the exporter takes four seconds for the first graph of a process, a trainer nearly two
    *("test_studies", "test_other_encoders", "test_train", "test_bench_peers", "test_own_axes", "test_train_batches"),
    *("test_own_labels_study", "test_train_resume"),
)
SERVERS = {  # file or folder -> what it shares with others in one process, since each start takes seconds
    **dict.fromkeys(PYTORCH, "PyTorch"),
    **dict.fromkeys(("test_github_requests", "test_github_suggestions"), "Prism"),
    "on_ray": "Ray",
    "browser": "Chromium",
}
THEN = ("container", "slow", "browser")  # markers
Once = Callable[[str, Callable[[Path], object]], Path]
INSTALLED = cache(importlib.metadata.entry_points)  # it reads a file of each installed package, 14 ms for each command
MARKS = {  # fixture -> marker
    **dict.fromkeys(("tiny_run", "finished", "prism_and_double", "statuses", "many"), "slow"),
    "browser": "browser",
    **dict.fromkeys(("built", "distributions"), "container"),
}


def _names(file: Path) -> tuple[str, str]:
    """A test file's own and its folder's, as they stand in the tables above."""
    return file.stem, file.parent.name


class ByServer(LoadFileScheduling):
    """A file's tests go to one worker, and so do those of files that need the same server."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((SERVERS[name] for name in _names(Path(file)) if name in SERVERS), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer:
    """Deal out files, as `--dist loadfile` does."""
    return ByServer(config, log)


def pytest_xdist_auto_num_workers() -> int:
    """More than there are cores, since many tests wait for servers."""
    return len(os.sched_getaffinity(0)) + WAITING_WORKERS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures, and begin with what takes longest: files are dealt out to the workers in order."""
    named = {name: place for place, name in enumerate(LONGEST_FIRST)}
    for item in items:
        for fixture in MARKS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKS[fixture])
    ranks: dict[Path, int] = {}
    for item in items:
        rank = min((place for place, name in enumerate(THEN, 100) if item.get_closest_marker(name)), default=200)
        rank = next((named[name] for name in _names(item.path) if name in named), rank)
        ranks[item.path] = min(rank, ranks.get(item.path, 200))
    items.sort(key=lambda item: ranks[item.path])


def _is_compiled() -> bool:
    """Whether all tests ran here before: what they import last would be compiled; true where Python compiles none."""
    spec = importlib.util.find_spec("transformers")
    return sys.dont_write_bytecode or spec is None or spec.cached is None or Path(spec.cached).exists()


@contextmanager
def _one_compiles(config: pytest.Config) -> Iterator[None]:
    """In a fresh environment, one worker collects before the others do: at once, each would compile all modules."""
    if hasattr(config, "workerinput") and not _is_compiled():
        shared = Path(config.option.basetemp).parent
        with FileLock(shared / "compiling.lock"):
            if not (shared / "compiled").exists():
                yield
                (shared / "compiled").touch()
                return
    yield


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What test modules import stays to the end: half a million objects and more, never searched for cycles.

    Later objects are searched as seldom as in the program: Python's own threshold takes a seventh of the tests' CPU.
    """
    gc.disable()
    try:
        with _one_compiles(session.config):
            return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD)
        gc.enable()


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No account of the person who runs the tests, and no GitHub unless a test starts its own."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "FORCE_COLOR", "PYTHONWARNINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_API_URL", CLOSED_PORT)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Calls `distriage` through its entry point, in this process: `command("classify", path, stdin=b"...")`."""

    return _calls(main, monkeypatch, capsys)


@pytest.fixture
def research(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Calls `python training/research` in this process."""
    from distriage_research.commands import main

    return _calls(main, monkeypatch, capsys)


def _calls(main: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: object, stdin: bytes = b"") -> Finished:
        monkeypatch.setattr(importlib.metadata, "entry_points", INSTALLED)
        monkeypatch.setattr(sys, "argv", ["distriage", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as finished:
            code = finished.code
        assert code is None or isinstance(code, int), f"an exit with a message instead of a code: {code}"
        out, err = capsys.readouterr()
        return Finished(code or 0, out, err)

    return run


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """A GitHub of the test's own, which GITHUB_API_URL points to."""
    fake = GitHub()
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    yield fake
    fake.close()


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """npm packages that ours is held against: `npm ci` in .ci/npm brings them."""
    folder = REPOSITORY / ".ci" / "npm" / "node_modules"
    if not (folder / "@octokit").is_dir():
        pytest.skip("needs the npm packages of GitHub's own descriptions: npm ci --prefix .ci/npm")
    return folder


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(scope="session")
def once(shared_folder: Path) -> Once:
    """Builds what takes long once for all workers of pytest-xdist: `once("name", build)` calls `build(folder)`."""

    def made(name: str, build: Callable[[Path], object]) -> Path:
        with FileLock(shared_folder / f"{name}.lock"):
            if not (shared_folder / name).exists():
                build(shared_folder / f"{name}.unfinished")
                (shared_folder / f"{name}.unfinished").rename(shared_folder / name)
        return shared_folder / name

    return made


@pytest.fixture(scope="session")
def tiny_run(once: Once) -> Path:
    """The folder of a finished run of configs/tiny.toml."""
    for name in ("torch", "transformers", "datasets", "accelerate", "sklearn", "onnx", "onnxscript", "tensorboard"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'distriage[train]'")

    def build(folder: Path) -> None:
        # torch, transformers and scikit-learn warn about their own insides, and of five iterations
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from distriage_training.config import load_config
            from distriage_training.fit.train import train

            train(load_config(REPOSITORY / "configs" / "tiny.toml"), folder)

    return once("run", build)


@pytest.fixture(scope="session")
def tiny_bundle(tiny_run: Path, once: Once) -> Path:
    """The pulse model: the real pipeline on toys.

    Its verdicts mean nothing; its files are those of a released model. The fp32 graph that the export made on its way
    lies beside it.
    """

    def build(folder: Path) -> None:
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("ignore")
            from distriage_training.config import load_config
            from distriage_training.release import gates
            from distriage_training.release.export import export

            def write_and_keep(model: object, file: Path) -> None:
                write_onnx(model, file)
                shutil.copy(file, folder / "fp32.onnx")

            write_onnx = gates.write_onnx
            patch.setattr(gates, "write_onnx", write_and_keep)
            folder.mkdir(exist_ok=True)
            export(tiny_run, load_config(REPOSITORY / "configs" / "tiny.toml"), folder / "tiny")

    return once("exported", build) / "tiny"


@pytest.fixture(scope="session")
def tiny_classifier(tiny_bundle: Path) -> Classifier:
    """The pulse model, loaded."""
    return Classifier(tiny_bundle, threads=1)


@pytest.fixture(scope="session")
def shipped_bundle() -> Path:
    """The default model of the checkout."""
    folder = REPOSITORY / "models" / default_model()
    if not (folder / MANIFEST).is_file():
        pytest.skip(f"models/{folder.name} is not in this checkout")
    return folder


@pytest.fixture(scope="session")
def shipped_classifier(shipped_bundle: Path) -> Classifier:
    """The default model of the checkout, loaded."""
    return Classifier(shipped_bundle, threads=1)


@pytest.fixture(scope="session")
def distributions(once: Once) -> Path:
    """A folder with the source distribution of the checkout and the wheel that is built from it.

    Without isolation: `pip install .` in `.ci/run` shows that pyproject.toml names what a build needs.
    """
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("needs hatchling: pip install 'distriage[dev]'")

    def build(folder: Path) -> None:
        script = Path(__file__).parent / "support" / "distributions.py"
        command = [sys.executable, "-P", script, folder]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    return once("distributions", build)


@pytest.fixture(scope="session")
def keyword_bundle(once: Once) -> Path:
    """A toy model that hears single words; see `keyword_model.py`."""
    if importlib.util.find_spec("onnx") is None:
        pytest.skip("needs onnx: pip install 'distriage[train]'")
    return once("keywords", lambda folder: keyword_model.build(folder / "toy")) / "toy"


@pytest.fixture(scope="session")
def keyword_classifier(keyword_bundle: Path) -> Classifier:
    """The toy model, loaded."""
    return Classifier(keyword_bundle, threads=1)


@pytest.fixture(scope="session")
def own_labels(keyword_bundle: Path, once: Once) -> Path:
    """A folder that `distriage learn` wrote with the toy model; see `past_issues.py`."""
    if importlib.util.find_spec("sklearn") is None:
        pytest.skip("needs sklearn: pip install 'distriage[learn]'")
    return once("learned", lambda folder: past_issues.learned_folder(folder, keyword_bundle)) / "own"


@pytest.fixture(scope="session")
def indexed_bundle(keyword_bundle: Path, once: Once) -> Path:
    """The toy model with an index of known issues; see `known_issues.py`."""
    for name in ("sklearn", "datasets"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'distriage[train]'")

    def build(folder: Path) -> None:
        from support import known_issues

        known_issues.build(keyword_bundle, folder / "toy")

    return once("indexed", build) / "toy"


@pytest.fixture
def toy_copy(keyword_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the toy bundle to damage: its files are links, so replace them whole (`rewrite`)."""
    return Path(shutil.copytree(keyword_bundle, tmp_path / "toy", copy_function=os.link))


@pytest.fixture
def tiny_copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the pulse model to damage, likewise."""
    return Path(shutil.copytree(tiny_bundle, tmp_path / "tiny", copy_function=os.link))
