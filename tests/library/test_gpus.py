"""The accelerator that a report names."""

from __future__ import annotations

import pytest

from distriage.facts.environment import find_facts


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("on 3090 cards, then on an A100", "3090"),
        ("on an A100, then on 3090 cards", "A100"),
        ("step 3090, then on an A100", "A100"),
        ("two GH200, step 2080", "GH200"),
        ("309024G", "3090"),
        ("Ascend910B3 64G", "Ascend910B3"),
        ("昇腾 910B2", "910B2"),
        ("rtx 4070 ti super 16GB", "RTX 4070 Ti SUPER 16GB"),
        ("RTX 6000 Ada", "RTX 6000 Ada"),
        ("8x RTX PRO 6000 Blackwell", "RTX PRO 6000"),
        ("RTX 4090D", "RTX 4090D"),
        ("one 4090D", "4090D"),
        ("L20", "L20"),
        ("NVIDIA A5000", "A5000"),
        ("Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
        ("4 AMD Radeon 7900 XTX", "Radeon 7900 XTX"),
        ("Gaudi2 x 8", "Gaudi2"),
        ("trainium 2", "Trainium 2"),
        ("Intel Max 1550", "Max 1550"),
        ("MI355x", "MI355X"),
        ("Apple M3 Max", "Apple M3 Max"),
        ("TPU V5e", "TPU v5e"),
        ("the max 1550 ms", None),
        ("#SBATCH --partition=h100\nH100 SXM", "H100 SXM"),
        ("#SBATCH --partition=h100", "H100"),
        ("8 A100s", "A100"),
        ("V100S", "V100S"),
        ("L40s", "L40S"),
        ("A100-80GB split into 7 MIG 1g.10gb slices", "A100-80GB MIG 1g.10gb"),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "A100-SXM4-80GB MIG 3g.40gb"),
        ("migrated to an A100, 3g.40gbit", "A100"),
        ("GPU models and configuration: GPU 0: Quadro P5000", "Quadro P5000"),
        ("GPU 0: NVIDIA GeForce MX150 (UUID: GPU-1)", "GeForce MX150"),
        ("GPU 0: NVIDIA Thor\r", "Thor"),
        ("GPU 0,1: NVIDIA Graphics Device", None),
        ("GPU 0: loss 3", None),
        ("An H100 is fine.\nGPU 0: Tesla T4", "T4"),
        ("GPU 0: GeForce GT 1030\nGPU 1: NVIDIA RTX A6000", "RTX A6000"),
        ("|   0  GeForce GTX 105...  Off  |", None),
        ("a GTX 980.", "GTX 980"),
        ("two quadro P5000 cards", "Quadro P5000"),
        ("a Quadro GV100", "Quadro GV100"),
        ("a GeForce 940MX", "GeForce 940MX"),
        ("a GeForce GT 730", "GeForce GT 730"),
        ("my MX150", "MX150"),
        ("a GTX 960M", "GTX 960M"),
        ("Tesla C2075", "Tesla C2075"),
        ("Tesla M60", "M60"),
        ("one K40c", "K40c"),
        ("K40x8", "K40"),
        ("GPU 0: Quadro K620\nGPU 1: NVIDIA RTX A6000", "RTX A6000"),
        ("mx1500, quadro, GT 730 steps", None),
        ("my gpu is 1060 with 6G", "1060"),
        ("on a Colab TPU", "TPU"),
        ("Trainer(tpu_cores=8)", "TPU"),
        ("TPU available: False, using: 0 TPU cores", None),
    ],
)
def test_the_gpu_that_is_named_first_counts(text: str, model: str | None) -> None:
    assert find_facts("", text).gpu_model == model
