#!/usr/bin/env bash
# PyTorch's collect_env lists no library where an environment has no pip, as uv makes them.
#
# Guess: it lists torch and numpy, whatever installed them.
# Seen on 2026-11-29 with PyTorch 2.13.0 and uv 0.13.9: `[pip3] Could not collect`. A report from such a machine has the
# version of PyTorch and of nothing else.
# Who meets it: maintainers whose issue form asks for this listing
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q uv==0.13.9

venv/bin/uv venv -q made
VIRTUAL_ENV="$PWD/made" venv/bin/uv pip install -q ${PIP_FIND_LINKS:+--find-links "$PIP_FIND_LINKS"} torch==2.13.0 numpy==2.4.6
made/bin/python -m torch.utils.collect_env 2>/dev/null | grep -A1 'relevant libraries' | tee seen
grep -x '\[pip3\] Could not collect' seen
