#!/usr/bin/env bash
# A nightly satisfies `>=2.12` in packaging 26 and did not in 25.
#
# Guess: a pre-release is refused unless the specifier names one.
# Seen on 2026-11-29 with packaging 25.0 and 26.4: `SpecifierSet('>=2.12').contains('2.13.0.dev20260101+cu128')` is
# False in 25.0 and True in 26.4, the same for NVIDIA's `2.6.0a0+...`. A version gate turns round with an upgrade of
# packaging.
# Who meets it: checks such as `torch>=2.12` in training code, on nightlies and in NVIDIA's containers
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q packaging==25.0

cat >program.py <<'EOF'
import packaging
from packaging.specifiers import SpecifierSet

for version, wanted in [("2.13.0.dev20260101+cu128", ">=2.12"), ("2.6.0a0+ecf3bae40a.nv25.01", ">=2.5")]:
    print(packaging.__version__, version, wanted, SpecifierSet(wanted).contains(version))
EOF
venv/bin/python program.py >seen
venv/bin/pip install -q packaging==26.4
venv/bin/python program.py >>seen
cat seen
diff seen - <<'EOF'
25.0 2.13.0.dev20260101+cu128 >=2.12 False
25.0 2.6.0a0+ecf3bae40a.nv25.01 >=2.5 False
26.4 2.13.0.dev20260101+cu128 >=2.12 True
26.4 2.6.0a0+ecf3bae40a.nv25.01 >=2.5 True
EOF
