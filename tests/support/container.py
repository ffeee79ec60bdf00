"""Carries out a Dockerfile without Docker: a stage is a Debian root by mmdebstrap, a RUN a chroot. Needs root."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support import package_index

MIRROR = "http://deb.debian.org/debian"
# The image python:3.11-slim-bookworm is Debian 12 with Python 3.11, which Debian 12 has too.
BASE = "python:3.11.13-slim-bookworm"
PACKAGES = "base-files,base-passwd,coreutils,dash,libstdc++6,passwd,python3"
# Unpacked and not configured: Python's package would compile the whole standard library, and no step needs the rest.
# Nobody searches for packages by their descriptions, and xz takes longer to unpack than gz.
LIGHT = ("--variant=extract", '--aptopt=Acquire { Languages "none"; CompressionTypes::Order:: "gz"; }')
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
FROM_HERE = ("etc/resolv.conf", CERTIFICATES)  # how this machine reaches a package index
UV = "ghcr.io/astral-sh/uv:"  # this image is one file, and the package from the index has it too
# Modules are compiled as they are imported, which is cheaper where a server starts once, and kept for its children.
NOT_COMPILED = {"UV_COMPILE_BYTECODE": "0", "PYTHONPYCACHEPREFIX": "/tmp/compiled"}
BUILD = package_index.ENVIRONMENT | {"SSL_CERT_FILE": f"/{CERTIFICATES}"} | NOT_COMPILED
# The wheel that a build makes is unpacked at once: its 50 MB of model need not be deflated for that.
STORED = "import zlib\nzlib.Z_DEFAULT_COMPRESSION = 0\n"
SERVE = """
mount --bind "$ROOT" "$ROOT" && cd "$ROOT"
mount -t proc proc proc && mount --rbind /dev dev
mount -t tmpfs tmpfs tmp && mount -t tmpfs -o uid=10001,gid=10001 tmpfs data
mount -o remount,bind,ro "$ROOT"
if touch "$ROOT/etc/written"; then exit 99; fi
exec chroot --userspec="$BUILD_USER" "$ROOT" "$@"
"""


@dataclass
class Stage:
    """What a stage of a build has come to.

    Attributes:
        root: Its file system.
        user: `uid:gid`.
    """

    root: Path
    environment: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    )
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as the stage's user."""
        inside = ["chroot", f"--userspec={self.user}", str(self.root), "env", "-C", self.folder, *command]
        return subprocess.run(inside, env=self.environment | BUILD, capture_output=True, text=True, check=False)

    def start(self, log: Path, **environment: str) -> subprocess.Popen[bytes]:
        """The container's process group: root file system read-only, writable are only /data and /tmp."""
        given = self.environment | NOT_COMPILED | environment | {"ROOT": str(self.root), "BUILD_USER": self.user}
        inside = ["env", "-u", "ROOT", "-u", "BUILD_USER", "-C", self.folder, *self.entrypoint, *self.command]
        with log.open("wb") as stream:
            return subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", SERVE, "sh", *inside],
                env=given,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # To be killed as a group: `unshare --kill-child` is forgotten once the child changes its user.
                start_new_session=True,
            )


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Instruction and argument of each line, continued lines joined."""
    lines = [line for line in dockerfile.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def context(repository: Path, folder: Path) -> Path:
    """What `.dockerignore` lets through; it names what is wanted."""
    for line in (repository / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line.startswith("!"):
            source, target = repository / line[1:], folder / line[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
    return folder


def base(folder: Path) -> Path:
    """A fresh Debian with Python, called as it is called in Python's own image."""
    command = ["mmdebstrap", f"--include={PACKAGES}", *LIGHT, "bookworm", str(folder), MIRROR]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    for name in FROM_HERE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("/", name), folder / name)
    for name in ("passwd", "group"):  # as the package configures itself
        shutil.copy(folder / f"usr/share/base-passwd/{name}.master", folder / "etc" / name)
    (folder / "usr/local/bin").mkdir(parents=True)
    (folder / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    (folder / "etc/python3.11/sitecustomize.py").write_text(STORED, encoding="utf-8")
    return folder


def build(dockerfile: str, context: Path, fresh: Path, folder: Path) -> Stage:
    """Carry the steps out and return the last stage.

    Args:
        fresh: What every stage begins with.
    """
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for name, rest in instructions(dockerfile):
        if name == "FROM":
            image, *called = rest.split(" AS ")
            assert image == BASE
            label = called[0] if called else "last"
            subprocess.run(["cp", "-a", str(fresh), str(folder / label)], check=True)
            stage = stages[label] = Stage(folder / label)
            continue
        assert stage is not None, "an instruction before FROM"
        match name:
            case "RUN":
                done = stage.run("sh", "-c", rest)
                assert done.returncode == 0, f"{rest}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            case "COPY":
                _copy(stage, stages, context, rest.split())
            case "ENV":
                for word in shlex.split(rest):
                    key, _, value = word.partition("=")
                    stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
            case "WORKDIR":
                stage.folder = rest
                (stage.root / rest[1:]).mkdir(parents=True, exist_ok=True)
            case "USER":
                stage.user = rest
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case "CMD":
                stage.command = json.loads(rest)
            case "HEALTHCHECK":
                stage.healthcheck = json.loads(rest.partition(" CMD ")[2])
            case "VOLUME" | "EXPOSE":
                pass
            case _:
                raise AssertionError(f"unknown instruction {name}")
    assert stage is not None
    return stage


def _copy(stage: Stage, stages: dict[str, Stage], context: Path, words: Sequence[str]) -> None:
    origin = context
    if words[0].startswith("--from="):
        from uv import find_uv_bin

        name = words[0].removeprefix("--from=")
        origin = Path(find_uv_bin()).parent if name.startswith(UV) else stages[name].root
        words = words[1:]
    *sources, target = words
    destination = stage.root / os.path.join(stage.folder, target)[1:]  # noqa: PTH118 (an absolute target replaces the folder)
    for source in sources:
        path = origin / source.removeprefix("/")
        if path.is_dir():
            destination.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", f"{path}/.", str(destination)], check=True)
        else:
            shutil.copy(path, destination / path.name if destination.is_dir() else destination)
