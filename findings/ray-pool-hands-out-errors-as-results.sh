#!/usr/bin/env bash
# imap() of Ray's multiprocessing.Pool yields a failed call's exception as a result and raises nothing.
#
# Guess: the exception is raised, as multiprocessing.Pool does, whose full API Ray's documentation promises.
# Seen on 2026-11-30 with Ray 2.60.0: imap() and imap_unordered() give a PoolTaskError object among the results;
# map() raises the ValueError itself.
# Who meets it: whoever scales a script by changing the import, and writes or counts the results as they come
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q ray==2.60.0

cat >program.py <<'EOF'
import multiprocessing

import ray
import ray.util.multiprocessing


def half(number):
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def look(name, pool):
    for way in ("map", "imap", "imap_unordered"):
        try:
            print(name, way, "returns", sorted(map(repr, getattr(pool, way)(half, [2, 3, 4]))))
        except ValueError as error:
            print(name, way, "raises", repr(error))


if __name__ == "__main__":
    with multiprocessing.Pool(1) as pool:
        look("multiprocessing", pool)
    ray.init(num_cpus=1, include_dashboard=False)
    look("ray", ray.util.multiprocessing.Pool(1))
EOF
venv/bin/python program.py 2>errors >seen || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
multiprocessing map raises ValueError('3 is odd')
multiprocessing imap raises ValueError('3 is odd')
multiprocessing imap_unordered raises ValueError('3 is odd')
ray map raises ValueError('3 is odd')
ray imap returns ['1', '2', "PoolTaskError(ValueError('3 is odd'))"]
ray imap_unordered returns ['1', '2', "PoolTaskError(ValueError('3 is odd'))"]
EOF
