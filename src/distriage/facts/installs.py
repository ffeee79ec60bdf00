"""What a report says of an installation: by what, into what, and whether PyTorch or a compiler matters. Pure."""

from __future__ import annotations

import re

from distriage.facts.scanning import any_of, first_at, places

_PIP = ("pip install", "pip3 install", "pip-install")  # and the folder of its downloads
_OTHERWISE = (
    *("setup.py install", "setup.py develop", "setup.py bdist", "docker build", "dockerfile", "docker-images"),
    *("apt-get install", "git checkout", "conda install", "ninja: "),
)
_FRESH = re.compile(
    r"(?<!not in a )(?<!need a )(?<!need i a )(?<!\bno )(?:fresh|clean|new|empty|create) "
    r"(?:conda |virtual |python |docker |-n |--name ){0,2}"
    r"(?:v?env(?!(?:ironment)?s? var)|virtualenv|container|\w{1,40} python)|-m venv|virtualenv "
)
_FRESH_STARTS = ("fresh ", "clean ", "new ", "empty ", "create ", "-m venv", "virtualenv ")
_TORCH = re.compile(
    r"torch(?:(?<![\w/.]torch)|(?<=packages/torch))(?![ _-]?lightning|\w)|pytorch(?![ _-]?lightning)|cuda"
    r"|undefined symbol|\.so(?!\w)"
)
_TORCH_STARTS = ("torch", "pytorch", "cuda", "undefined symbol", ".so")
_COMPILER = (
    *("compil", "gcc", "g++", "clang", "cmake", "ninja", "nvcc", "ld: ", "building wheel", ".whl", "manylinux"),
    *("from source", "include ", "make: ", "make[", "undefined reference", "not declared", ".h:", ".hpp:", ".cc:"),
    ".cpp:",
    *("no matching distribution", "could not find a version"),
)


def is_without_pip(words: str, own: str) -> bool:
    """Whether something else than pip installs, or the report speaks of no pip."""
    return any_of(_OTHERWISE, own) or not any_of(_PIP, words)


def names_fresh_environment(own: str) -> bool:
    """Whether it is in an environment that was made for the purpose."""
    return first_at(_FRESH, own, places(_FRESH_STARTS, own)) is not None


def install_subjects(own: str) -> frozenset[str]:
    """Of what the reporter speaks: `pytorch` (or native code that may need it), `compiler` (or ready-made wheels)."""
    torch = first_at(_TORCH, own, places(_TORCH_STARTS, own)) is not None
    return frozenset({*(["pytorch"] if torch else []), *(["compiler"] if any_of(_COMPILER, own) else [])})
