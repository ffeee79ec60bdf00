"""`distriage doctor` on real virtual environments: a sound one, and some broken on purpose.

Their packages are installed as wheels without code: each has the requirements of that release on PyPI, from the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from distriage.facts.compatibility.matrix import RELEASES, requirements

from support.command_line import Command, Finished, assert_one_line

NOT_METADATA = {RELEASES, "cuda", "rocm", "compute", "driver"}
SMI = """#!/bin/sh
echo "{}"
"""


def environment(folder: Path, packages: dict[str, str]) -> Path:
    """A new virtual environment with packages of these versions."""
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/python3.*/site-packages"))
    for name, version in packages.items():
        wheel = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        rows = [row for row in requirements(name, Version(version)) if row.needs not in NOT_METADATA]
        wanted = [f"Requires-Dist: {row.needs}{row.specifier}" for row in rows if row.needs != "python"]
        python = [f"Requires-Python: {row.specifier}" for row in rows if row.needs == "python"]
        head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *python, *wanted]
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr(f"{info}/METADATA", "\n".join(head) + "\n\n")
            file.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/RECORD,,\n")
        with zipfile.ZipFile(wheel) as file:
            file.extractall(site)
    return folder


@pytest.fixture
def doctor(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`distriage doctor` in this process, with these variables, and no path of this machine to CUDA or libraries."""

    def judged(place: Path, *options: str, path: str = "/nowhere", **variables: str) -> Finished:
        none = {"CUDA_HOME": "/nowhere", "LD_LIBRARY_PATH": "", "LD_PRELOAD": ""}
        for name, value in {"PATH": path, "COLUMNS": "500", **none, **variables}.items():
            monkeypatch.setenv(name, value)
        return command("doctor", place, *options)

    return judged


def smi(folder: Path, answer: str) -> str:
    """A `PATH` on which `nvidia-smi` gives this answer."""
    folder.mkdir()
    program = folder / "nvidia-smi"
    program.write_text(SMI.format(answer))
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


SOUND = {
    "torch": "2.8.0",
    "nvidia-nccl-cu12": "2.27.3",
    "nvidia-cuda-runtime-cu12": "12.8.90",
    "triton": "3.4.0",
    "torchvision": "0.23.0",
    "vllm": "0.10.2",
    "transformers": "4.56.0",
    "nvidia-cudnn-cu12": "9.10.2.21",
    "torchaudio": "2.8.0",
    "xformers": "0.0.32.post1",
    "ray": "2.49.0",
    "tokenizers": "0.22.0",
    "huggingface-hub": "0.34.4",
    "numpy": "2.2.6",
    "pydantic": "2.11.7",
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"nvidia-nccl-cu12": "2.21.5"}, ["torch 2.8.0 comes with NCCL 2.27.3; here it is 2.21.5."]),
        ({"torchvision": "0.19.0"}, ["torchvision 0.19.0 requires torch 2.4.0; here it is 2.8.0."]),
        ({"vllm": "0.8.0"}, ["vllm 0.8.0 requires torch 2.6.0; here it is 2.8.0."]),
        ({"transformers": "4.40.0"}, ["vllm 0.10.2 requires transformers >=4.55.2; here it is 4.40.0."]),
    ],
    ids=["sound", "nccl", "torchvision", "torch", "transformers"],
)
def test_an_environment_is_judged_by_its_packages(
    tmp_path: Path, doctor: Command, changes: dict[str, str], said: list[str]
) -> None:
    done = doctor(environment(tmp_path / "env", {**SOUND, **changes}), "--json")

    answer: dict[str, Any] = json.loads(done.out)
    assert set(said) <= {one["problem"] for one in answer["problems"]}
    assert bool(answer["problems"]) == bool(said)
    assert done.code == bool(said)
    assert answer["packages"]["torch"] == "2.8.0"
    assert answer["cuda"] == "12.8"
    assert answer["python"].startswith("3.")


def test_the_driver_the_gpu_and_the_loaders_nccl_are_looked_at(tmp_path: Path, doctor: Command) -> None:
    place = environment(tmp_path / "env", SOUND)
    (tmp_path / "libnccl.so.2.21.5").touch()
    (tmp_path / "libnccl.so.2").symlink_to("libnccl.so.2.21.5")
    path = smi(tmp_path / "bin", "Tesla P100-PCIE-16GB, 470.82.01")

    done = doctor(place, path=path, LD_LIBRARY_PATH=str(tmp_path))

    assert done.code == 1
    assert "CUDA 12.8 requires an NVIDIA driver >=525; here it is 470.82.01." in done.out
    assert "has no kernels for the Tesla P100-PCIE-16GB (6.0)" in done.out
    assert f"torch 2.8.0 comes with NCCL 2.27.3; here it is 2.21.5 ({tmp_path}/libnccl.so.2)." in done.out


def test_a_sound_machine_is_said_to_be_so(tmp_path: Path, doctor: Command) -> None:
    path = smi(tmp_path / "bin", "NVIDIA H100 80GB HBM3, 570.86.15")

    done = doctor(environment(tmp_path / "env", SOUND), path=path)

    assert done.code == 0
    assert "Nothing that does not fit is known." in done.out
    assert "NVIDIA H100 80GB HBM3" in done.out


def test_a_package_that_another_one_requires_is_missed(tmp_path: Path, doctor: Command) -> None:
    done = doctor(environment(tmp_path / "env", {"torchvision": "0.19.0"}))

    assert done.code == 1
    assert "torchvision 0.19.0 requires torch 2.4.0; here it is not installed." in done.out


def test_a_folder_without_packages_is_refused_in_one_line_by_the_program(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "distriage", "doctor", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)

    assert_one_line(
        Finished(done.returncode, done.stdout, done.stderr),
        f"{tmp_path}: holds no lib/python3.*/site-packages; expected",
    )
