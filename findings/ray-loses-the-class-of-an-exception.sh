#!/usr/bin/env bash
# A task's exception whose constructor takes two arguments reaches Ray's driver as another class.
#
# Guess: the driver can catch the class that the task raised.
# Seen on 2026-11-29 with Ray 2.60.0: an exception that cannot be unpickled arrives as `UnserializableException`,
# which is no subclass of it; attributes are gone. A ValueError arrives as both RayTaskError and ValueError.
# Who meets it: callers that retry on an exception of their own
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q ray==2.60.0

cat >program.py <<'EOF'
import ray

ray.init(num_cpus=1, include_dashboard=False)


class StageError(Exception):
    def __init__(self, stage, why):
        super().__init__(why)
        self.stage = stage


@ray.remote
def raises(kind):
    raise StageError(3, "no data") if kind == "two" else ValueError("no data")


for kind in ("two", "one"):
    try:
        ray.get(raises.remote(kind))
    except Exception as error:
        print("seen", kind, type(error).__name__, isinstance(error, (StageError, ValueError)), hasattr(error, "stage"))
EOF
venv/bin/python program.py 2>/dev/null | grep ^seen >seen
cat seen
diff seen - <<'EOF'
seen two UnserializableException False False
seen one RayTaskError(ValueError) True False
EOF
