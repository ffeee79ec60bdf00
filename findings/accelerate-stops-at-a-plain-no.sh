#!/usr/bin/env bash
# `mixed_precision: no` without quotes in Accelerate's configuration ends in an AttributeError.
#
# Guess: Accelerate, whose own value is called no, takes it as written.
# Seen on 2026-11-29 with Accelerate 1.15.0: YAML reads the word as false, and `accelerate launch` fails with `'bool'
# object has no attribute 'lower'`, naming neither the key nor the file. `accelerate config` writes the quotes.
# Who meets it: users who write the file by hand
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6 accelerate==1.15.0

printf 'compute_environment: LOCAL_MACHINE\ndistributed_type: "NO"\nnum_processes: 1\nmixed_precision: no\nuse_cpu: true\n' >config.yaml
echo 'print("started")' >program.py
! venv/bin/accelerate launch --config_file config.yaml program.py >seen 2>&1
tail -1 seen
grep -x "AttributeError: 'bool' object has no attribute 'lower'" seen
