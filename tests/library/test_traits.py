"""What is advised fits what else a report says: one process, no server, no traceback, a framework of its own kind."""

from __future__ import annotations

import re
import time
import tomllib
from importlib import resources

import pytest

from distriage.answer.playbooks import AXES, check_for, checks_for, playbook_of
from distriage.base.types import IssueReport
from distriage.facts.environment import EnvironmentFacts
from distriage.facts.situation import Platform, Situation
from distriage.facts.spoken import install_subjects
from distriage.facts.traits import traits_of
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

TAXONOMY = default_taxonomy()
FILES = resources.files("distriage.answer.playbooks")
TABLES = tomllib.loads((FILES / "elsewhere.toml").read_text("utf-8"))
ONE_PROCESS = Situation(one_process=True)
UNSAID = {
    "without-pip",
    "without-sizes",
    "without-cuda",
    "without-nccl",
    "without-horovod",
    "one-node",
}  # `test_advice` has these


def situation(text: str, identifier: str = "") -> Situation:
    return read(IssueReport("It fails", text, identifier)).situation


def first(situation: Situation, **labels: str) -> str:
    return checks_for(TAXONOMY, labels, situation)[0]


def advice(situation: Situation) -> set[str]:
    """All that can be advised in a situation, of each label alone and each symptom with each cause."""
    labels = {axis: TAXONOMY.axes[axis].label_ids for axis in AXES}
    alone = {
        check for axis in AXES for label in labels[axis] for check in checks_for(TAXONOMY, {axis: label}, situation)
    }
    pairs = {
        check_for(TAXONOMY, cause, symptom, situation) for symptom in labels["symptom"] for cause in labels["cause"]
    }
    return alone | pairs - {TAXONOMY.axes["cause"].label(cause).definition for cause in labels["cause"]}


def test_each_name_of_a_table_stands_in_a_playbook() -> None:
    """Otherwise a sentence was changed, and what the table says of it no longer holds."""
    books = [playbook_of(TAXONOMY, axis, label) for axis in AXES for label in TAXONOMY.axes[axis].label_ids]
    pairs = tomllib.loads((FILES / "pairs.toml").read_text("utf-8"))
    texts = [text for book in books if book for text in (book.check, book.serving, *book.confirm)]
    texts += [check for causes in pairs.values() for check in causes.values()]
    put_in = [text for words in TABLES.values() for text in words.values()]
    everything = "\n".join([*texts, *put_in])
    assert [name for words in TABLES.values() for name in words if name not in everything] == []


@pytest.mark.parametrize(
    ("text", "identifier", "traits"),
    [
        ('Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: 1', "", set()),
        ("test_a.py:12: in test_it\n    run()", "", set()),
        ("test_a.py:12: KeyError", "", set()),
        ("~/x/trainer.py in fit(self)\n    81", "", set()),
        ("Thread 1\n#0  0x00007f in ring ()", "", set()),
        ("INFO engine.py:12: loaded the model", "", {"without-traceback"}),
        ("functions.py:61: UserWarning: gathers scalars", "", {"without-traceback"}),
        ("Error messages and stack traces: none", "", {"without-traceback"}),
        ("frame #3: AttributeError: Can't pickle local object 'f.<locals>.g'", "", {"pickling"}),
        ("frame #3: in cloudpickle/cloudpickle.py", "", set()),
        ("frame #3: Illegal instruction (core dumped)", "", {"illegal-instruction"}),
        ("frame #3: CUDA error: an illegal instruction was encountered", "", set()),
        ("frame #3: it hangs", "horovod/horovod#1", {"without-process-group"}),
        ("frame #3: it hangs", "ray-project/ray#1", {"ray", "without-process-group", "without-torch"}),
        ("frame #3: RLlib with torch", "ray-project/ray#1", {"ray", "without-process-group"}),
        ("frame #3: TorchTrainer with NCCL", "ray-project/ray#1", set()),
    ],
)
def test_what_a_report_says_is_read(text: str, identifier: str, traits: set[str]) -> None:
    assert situation(text, identifier).traits - UNSAID == traits
    assert traits <= TABLES.keys()


@pytest.mark.parametrize(
    "piece",
    [
        *('file "', ".py:1: a", ".py:1: in" + "a" * 60, "\n\tat", "#1 ", "can not be "),
        *("should probably ", "on main ", "c++ ", "libtorch.", "parallel ", "n = ", "fresh python a", "fix "),
        *("root cause is n", "on main branch not ", "[ci", "version: ", "new env ", "version a: "),
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    traits_of(EnvironmentFacts("Ray"), None, text, text, text, frozenset(), no_device=False)
    install_subjects(text)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("serving", [False, True])
def test_one_process_is_not_told_of_ranks_and_nodes(serving: bool) -> None:
    given = advice(Situation(one_process=True, serving=serving, server=serving))
    many = r"\branks?\b|NCCL|MASTER_ADDR|TP x PP|TP 1|parallelism|TORCH_DISTRIBUTED|world size|launcher|every node"
    assert len(given) > 90, "too much was left out"
    assert [check for check in given if re.search(many, check)] == []
    assert [check for check in given if len(check) > 170 or check.count("`") % 2] == []


@pytest.mark.parametrize(
    ("symptom", "part"),
    [
        ("tensor-mismatch", "both operands on the failing line."),
        ("network-connection-failure", "`nc -vz HOST PORT` from where the client runs."),
        ("runtime-hang", "`py-spy dump --pid PID` twice"),
        ("low-throughput", "`torch.profiler` and name the largest operation or gap."),
        ("config-rejected", "Print the configuration"),
        ("gradient-computation-error", "set_detect_anomaly"),
    ],
)
def test_one_process_gets_the_check_that_makes_sense_for_it(symptom: str, part: str) -> None:
    assert part in first(ONE_PROCESS, symptom=symptom)
    assert part not in first(Situation(), symptom=symptom)


def test_a_client_on_windows_reaches_a_server_by_the_command_that_is_there() -> None:
    check = first(Situation(Platform.WINDOWS, one_process=True), symptom="network-connection-failure")
    assert "`Test-NetConnection HOST -Port PORT`" in check


@pytest.mark.parametrize(
    ("text", "identifier", "server"),
    [
        ("Out of memory.", "vllm-project/vllm#1", True),
        ("Out of memory in sglang/srt/server.py", "", True),
        ("Out of memory on a GTX 1060. vLLM has room.", "pytorch/pytorch#1", False),
        ("Out of memory on a GTX 1060.", "", False),
    ],
)
def test_options_of_servers_are_named_to_those_who_run_one(text: str, identifier: str, server: bool) -> None:
    served = situation(text, identifier).at({"serving"}, one_process=False)
    labels = {"symptom": "device-out-of-memory", "cause": "resource-misallocation", "fix": "resource-adjustment"}
    for axis in ("cause", "fix"):
        assert ("vLLM" in first(served, **{axis: labels[axis]})) is server
    assert ("cache" in first(served, symptom=labels["symptom"])) is server
    trained = advice(situation(text, identifier).at({"training"}, one_process=False))
    assert [check for check in trained if re.search("vLLM|temperature|tokenizer|prompt|chat", check)] == []


def test_wrong_values_outside_a_server_are_followed_to_where_they_come_from() -> None:
    labels = {"symptom": "incorrect-output", "cause": "incorrect-logic"}
    checks = checks_for(TAXONOMY, labels)
    assert "goes into the function that gives the wrong value" in checks[0]
    assert "where it is computed" in checks[1]
    served = checks_for(TAXONOMY, labels, Situation(serving=True, server=True))
    assert "at temperature 0" in served[0] and "quantization" in served[1]


def test_a_traceback_is_spoken_of_only_where_there_is_one() -> None:
    bare = Situation(traits=frozenset({"without-traceback"}))
    assert [check for check in advice(bare) if re.search("traceback|failing frame", check)] == []
    assert "the function in the traceback" in first(Situation(), fix="framework-patch")
    assert "the function or option that the report names" in first(bare, fix="framework-patch")


@pytest.mark.parametrize("framework", ["horovod/horovod#1", "ray-project/ray#1"])
def test_no_variable_of_torch_s_process_group_where_there_is_none(framework: str) -> None:
    given = advice(situation("The workers hang.", framework))
    assert len(given) > 80
    assert [
        check for check in given if re.search("TORCH_|MASTER_ADDR|init_process_group|torch.distributed", check)
    ] == []
    assert "`py-spy dump" in first(situation("The workers hang.", framework), symptom="runtime-hang")


def test_ray_s_workers_are_looked_for_in_ray_s_logs() -> None:
    labels = {"symptom": "launch-failure", "cause": "launch-misconfiguration"}
    checks = checks_for(TAXONOMY, labels, situation("The autoscaler ends.", "ray-project/ray#1"))
    assert "/tmp/ray/session_latest/logs" in checks[0] and not any("hostname" in check for check in checks)


def test_what_cannot_be_pickled_is_looked_for_and_not_the_hosts() -> None:
    known = situation("AttributeError: Can't pickle local object", "Lightning-AI/pytorch-lightning#1")
    checks = checks_for(TAXONOMY, {"symptom": "launch-failure", "cause": "launch-misconfiguration"}, known)
    assert "`pickle.dumps`" in checks[0] and not any("hostname" in check for check in checks)


def test_an_illegal_instruction_of_the_cpu_is_not_looked_for_on_the_card() -> None:
    known = situation("Illegal instruction (core dumped)")
    checks = checks_for(TAXONOMY, {"symptom": "native-crash", "cause": "hardware-limitation"}, known)
    assert "`lscpu`" in checks[0] and not any(re.search("CUDA|Xid|nvidia", check) for check in checks)


@pytest.mark.parametrize(
    ("symptom", "cause", "fix", "act"),
    [
        ("parameter-mismatch", "checkpoint-mismatch", "framework-patch", "keys"),
        ("low-throughput", "inefficient-implementation", "framework-patch", "profile"),
        ("api-exception", "feature-conflict", "framework-patch", "two features"),
        ("device-out-of-memory", "memory-management-defect", "framework-patch", "last good release"),
        ("tensor-mismatch", "incorrect-logic", "framework-patch", "reproduce"),
        ("numerical-anomaly", "precision-defect", "framework-patch", "in fp32"),
    ],
)
def test_an_act_is_asked_for_once(symptom: str, cause: str, fix: str, act: str) -> None:
    checks = checks_for(TAXONOMY, {"symptom": symptom, "cause": cause, "fix": fix})
    assert sum(act in check.lower() for check in checks) == 1
