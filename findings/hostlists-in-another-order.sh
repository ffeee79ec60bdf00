#!/usr/bin/env bash
# Two libraries read one Slurm node list in another order, and one of them refuses it.
#
# Guess: a list of nodes is read alike, in the order as written.
# Seen on 2026-11-29 with python-hostlist 2.3.0 and ClusterShell 1.10.1: `n2,n1` and `n[3,02,1]` keep their order in
# python-hostlist; ClusterShell sorts, and by padding first. The first host, which becomes MASTER_ADDR, differs.
# `n[001-3]` is three nodes to one and an error to the other.
# Who meets it: launch scripts that take the first host as the rendezvous, on a cluster where two tools read the list
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q python-hostlist==2.3.0 clustershell==1.10.1

cat >program.py <<'EOF'
from ClusterShell.NodeSet import NodeSet, NodeSetParseError
from hostlist import expand_hostlist

for nodes in ("n2,n1", "n[3,02,1]", "n[001-3]"):
    try:
        other = list(NodeSet(nodes))
    except NodeSetParseError as error:
        other = type(error).__name__
    print(nodes, expand_hostlist(nodes), other)
EOF
venv/bin/python program.py >seen
cat seen
diff seen - <<'EOF'
n2,n1 ['n2', 'n1'] ['n1', 'n2']
n[3,02,1] ['n3', 'n02', 'n1'] ['n1', 'n3', 'n02']
n[001-3] ['n001', 'n002', 'n003'] NodeSetParseRangeError
EOF
