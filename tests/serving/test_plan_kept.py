"""Which labels that Distriage's own account set a plan keeps, and which it takes off."""

from __future__ import annotations

import pytest

from distriage_serving.configuration.names import resolve
from distriage_serving.planning.plan import make_plan

from support.plans import TAXONOMY, config, plan, state, why
from support.verdicts import make_verdict


def test_a_label_of_ours_is_not_replaced_by_another() -> None:
    ours = frozenset({"symptom: native-crash"})
    kept = {
        None: "`symptom: native-crash` was set before; it is kept",
        False: "`symptom: native-crash` was set before; it is kept while the report is the same",
        True: "`symptom: native-crash` was set before; it is kept, since others changed this axis's labels too",
    }
    for rewritten, words in kept.items():
        made = plan(labels=ours, labels_by_us=ours, touched=ours, rewritten=rewritten)
        assert made.labels == ("stage: training-evaluation",) and why(made, "symptom") == words


OURS = "Distriage is not sure; a person has to look."


@pytest.mark.parametrize(
    ("shared", "by_us", "description", "goes"),
    [
        (False, True, "theirs", True),  # nobody but Distriage uses the account: it set the label
        (True, True, OURS, True),
        (True, True, "theirs", False),  # perhaps another workflow set it
        (True, False, OURS, False),
    ],
)
def test_needs_triage_goes_only_where_it_is_surely_ours(
    shared: bool, by_us: bool, description: str, goes: bool
) -> None:
    on_it = frozenset({"Needs-Triage"})
    issue = state(labels=on_it, labels_by_us=on_it if by_us else frozenset(), shared_account=shared)
    names = resolve(config("needs-triage: true"), TAXONOMY, {"Needs-Triage": description, "bug": OURS[:5]})
    assert make_plan(make_verdict(), issue, names).take_off == (("Needs-Triage",) if goes else ())
