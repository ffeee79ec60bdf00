#!/usr/bin/env bash
# vLLM's collect_env sets PyTorch's labels in columns: whoever looks for "Python version: " finds none.
#
# Guess: vLLM's listing, which its issue form asks for, has the lines of PyTorch's, from which it was made, and more.
# Seen on 2026-11-30 with vLLM 0.33.0 and PyTorch 2.13.0 (CPU): blanks stand before each colon
# ("Python version               : 3.11.2"), so that none of these labels of PyTorch's listing is found with its colon;
# without a GPU the part on CUDA is missing, where PyTorch says "Is CUDA available: False".
# Who meets it: whoever reads versions from vLLM's issues with the patterns of PyTorch's
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q torch==2.13.0 numpy==2.4.6 packaging==26.4 regex==2026.11.19 tqdm==4.70.1
# The wheel has half a gigabyte; the listing needs a few modules.
curl -sSfo vllm.tar.gz https://files.pythonhosted.org/packages/f7/25/aa5684e9c59d6fc75f78926b7f15e8d9adc7de2d9e6e7575b80776ad8169/vllm-0.33.0.tar.gz
tar xzf vllm.tar.gz --strip-components=1

venv/bin/python -m torch.utils.collect_env >torch.txt 2>/dev/null
PYTHONPATH=. venv/bin/python -m vllm.collect_env >vllm.txt 2>errors.txt || { cat errors.txt; exit 1; }
for label in "PyTorch version" "CUDA used to build PyTorch" "OS" "Python version" "Is CUDA available"; do
    echo "$label: PyTorch $(grep -c "^$label: " torch.txt || true), vLLM $(grep -c "^$label: " vllm.txt || true)" \
        "and $(grep -Ec "^$label +: " vllm.txt || true) in a column"
done >seen
cat seen
diff seen - <<'END'
PyTorch version: PyTorch 1, vLLM 0 and 1 in a column
CUDA used to build PyTorch: PyTorch 1, vLLM 0 and 1 in a column
OS: PyTorch 1, vLLM 0 and 1 in a column
Python version: PyTorch 1, vLLM 0 and 1 in a column
Is CUDA available: PyTorch 1, vLLM 0 and 0 in a column
END
