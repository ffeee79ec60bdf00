#!/usr/bin/env bash
# Grain's IndexSampler drops the remainder of an epoch with drop_remainder=False, in silence.
#
# Guess: no shard drops a record; the counts are evened out, or the first shards have one more, as ShardOptions says.
# Seen on 2026-11-30 with Grain 0.2.18: one epoch over 15 records in 8 shards reads 8 and leaves 7 out, shuffled or not:
# every shard stops after 15 // 8 records, though seven of the shards have two. It is what drop_remainder=True does, but
# without its warning. In four epochs the record of the smallest shard comes seven times, others three times.
# Who meets it: evaluation with ShardByJaxProcess over a set whose size the number of hosts does not divide
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q grain==0.2.18 numpy==2.4.6

cat >program.py <<'EOF'
from collections import Counter

import grain.python as grain


def read(records, shards, shuffle, epochs, **options):
    seen = Counter()
    for shard in range(shards):
        sampler = grain.IndexSampler(
            records, grain.ShardOptions(shard, shards, **options), shuffle=shuffle, num_epochs=epochs, seed=0
        )
        seen.update(int(record) for record in grain.DataLoader(data_source=range(records), sampler=sampler))
    never = [record for record in range(records) if record not in seen]
    return f"{sum(seen.values())} of {records * epochs}, never {never}, times read {sorted(set(seen.values()))}"


print("16 records, 8 shards:", read(16, 8, False, 1))
print("15 records, 8 shards:", read(15, 8, False, 1))
print("15 records, 8 shards, shuffled:", read(15, 8, True, 1))
print("15 records, 8 shards, four epochs:", read(15, 8, False, 4))
print("7 records, 2 shards:", read(7, 2, False, 1))
print("15 records, 8 shards, drop_remainder:", read(15, 8, False, 1, drop_remainder=True))
EOF
venv/bin/python program.py >seen 2>errors || { cat errors; exit 1; }
cat seen
diff seen - <<'EOF'
16 records, 8 shards: 16 of 16, never [], times read [1]
15 records, 8 shards: 8 of 15, never [1, 3, 5, 7, 9, 11, 13], times read [1]
15 records, 8 shards, shuffled: 8 of 15, never [1, 3, 5, 7, 9, 11, 13], times read [1]
15 records, 8 shards, four epochs: 56 of 60, never [], times read [3, 4, 7]
7 records, 2 shards: 6 of 7, never [3], times read [1]
15 records, 8 shards, drop_remainder: 8 of 15, never [8, 9, 10, 11, 12, 13, 14], times read [1]
EOF
