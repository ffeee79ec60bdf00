from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.base.errors import InputError
from distriage.model.taxonomy import default_taxonomy
from distriage_serving.bot.commands import (
    MAX_COMMANDS,
    MAX_LINE_CHARS,
    LookAgain,
    Undo,
    Wrong,
    find_commands,
    parse_command,
)

from support.linear_time import in_time

TAXONOMY = default_taxonomy()


@pytest.mark.parametrize(
    ("comment", "lines"),
    [
        ("/triage", ["/triage"]),
        ("/Triage Undo", ["/Triage Undo"]),
        ("Thank you.\r\n\r\n  /triage undo  \r\nBye.", ["/triage undo"]),
        ("```\n/triage undo\n```\n/triage", ["/triage"]),
        ("~~~~\n```\n/triage undo\n~~~~\n/triage", ["/triage"]),
        ("/triage wrong stage\nand\n/triage wrong symptom", ["/triage wrong stage", "/triage wrong symptom"]),
        ("/triage wrong symptom `runtime-hang`", ["/triage wrong symptom runtime-hang"]),
        ("```foo```\n/triage", ["/triage"]),
        ("```\n``` not a close\n/triage\n```", []),
        ("<!--\n/triage\n-->", []),
        ("Hello <!--\n/triage wrong\n--> you", []),
        ("<pre>\n/triage\n</pre>", []),
        ("<details>\n\n/triage\n\n</details>", ["/triage"]),
        ("/triage accepted\n/Triage needs-information\n/triage unresolved", []),  # to Prow, not to us
        ("/triage accepted please", ["/triage accepted please"]),
        ("see\u2028/triage", []),
        ("see\x0b/triage", []),
        ("> /triage", []),
        ("> quoted\n/triage", []),  # a lazy line still belongs to the quotation
        ("- /triage", []),
        ("    /triage", []),
        ("`/triage`", []),
        ("~~/triage~~", []),
        ("# /triage", []),
        ("|a|\n|-|\n|/triage|", []),
        ("[x]:\n/triage", []),  # the address of a link
        ("use /triage", []),
        ("/triages", []),
        ("```\n/triage", []),
        ("", []),
    ],
)
def test_a_command_is_a_line_of_a_paragraph_as_github_shows_it(comment: str, lines: list[str]) -> None:
    assert find_commands(comment) == lines


def test_endless_lines_and_lists_of_commands_are_cut() -> None:
    assert find_commands("/triage wrong " + "x" * 10**5) == [("/triage wrong " + "x" * 10**5)[:MAX_LINE_CHARS]]
    assert len(find_commands("/triage\n" * 1000)) == MAX_COMMANDS


UNITS = ["\n", "[", "`", "``` `", "<!--", "x <!--", "<a ", "<a b='", "> ", "- ", "1. ", "|", "&", "\\", "~~", "```\n"]
UNITS += ["<?", "<![CDATA[", "[a]: b\n", "[a\n", "|a|\n", "<div>\n\n", "\t", "*", "_", "(", "/triage\n", "\u0301"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_no_comment_takes_long_to_read(unit: str) -> None:
    many = unit * (32_768 // len(unit))
    for text in (many, "|a|\n|-|\n" + many):
        assert in_time(find_commands, f"/triage {text}\n\n/triage")


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/triage", LookAgain()),
        ("/triage undo", Undo()),
        ("/triage wrong", Wrong({})),
        ("/triage wrong symptom", Wrong({"symptom": None})),
        ("/triage wrong symptom=none", Wrong({"symptom": None})),
        ("/triage WRONG Symptom=Runtime-Hang cause", Wrong({"symptom": "runtime-hang", "cause": None})),
        ("/Triage wrong symptom runtime-hang", Wrong({"symptom": "runtime-hang"})),
        ("/triage wrong symptom: runtime-hang, stage", Wrong({"symptom": "runtime-hang", "stage": None})),
        ("/triage wrong symptom runtime-hang.", Wrong({"symptom": "runtime-hang"})),
        ("/triage undo.", Undo()),
        ("/triage Wrong: symptom", Wrong({"symptom": None})),
        ("/triage wrong stage symptom runtime-hang", Wrong({"stage": None, "symptom": "runtime-hang"})),
    ],
)
def test_commands(line: str, command: object) -> None:
    assert parse_command(line, TAXONOMY) == command


OWN = ("oncall: distributed", "Stage", "bug", "bug: old", "symptom: crash", "fix")


@pytest.mark.parametrize(
    ("line", "corrections"),
    [
        ("/triage wrong oncall: distributed", {"own:oncall: distributed": None}),
        ("/triage wrong Bug", {"own:bug": None}),
        ("/triage wrong bug: old, symptom", {"own:bug: old": None, "symptom": None}),
        ("/triage wrong symptom `oncall: distributed`", {"symptom": None, "own:oncall: distributed": None}),
        ("/triage wrong symptom runtime-hang bug", {"symptom": "runtime-hang", "own:bug": None}),
        ("/triage wrong stage", {"stage": None}),
        ("/triage wrong symptom: crash, stage", {"own:symptom: crash": None, "stage": None}),
        ("/triage wrong fix, symptom runtime-hang", {"fix": None, "symptom": "runtime-hang"}),
    ],
)
def test_own_labels_are_named_by_their_names(line: str, corrections: object) -> None:
    assert parse_command(line, TAXONOMY, own=OWN) == Wrong(corrections)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/triage please", "'please': expected /triage, /triage wrong"),
        ("/triage undo all", "'undo all'"),
        ("/triage wrong symtom=runtime-hang", "unknown axis 'symtom'; did you mean 'symptom'? known: kind"),
        (
            "/triage wrong symptom=runtime-hung",
            "unknown label 'runtime-hung' of axis symptom; did you mean 'runtime-hang'?",
        ),
        ("/triage wrong symptom runtime-hang native-crash", "unknown axis 'native-crash'"),
        (
            "/triage wrong symptom: nativ-crash, Root cause: missing validation",
            "label 'nativ-crash' of axis symptom; did",
        ),
    ],
)
def test_what_is_not_understood_is_named(line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_command(line, TAXONOMY)
    assert message in str(error.value)


@pytest.mark.parametrize("axis", TAXONOMY.axes)
@pytest.mark.parametrize("wrong", ["hang", "memory", "wong", "x" * 400])
def test_of_an_unknown_label_the_nearest_ones_are_named_or_else_all(axis: str, wrong: str) -> None:
    with pytest.raises(InputError) as error:
        parse_command(f"/triage wrong {axis} {wrong}", TAXONOMY)
    said = str(error.value)
    assert len(said) <= 900 and ("; did you mean " in said or said.endswith(", ".join(TAXONOMY.axes[axis].label_ids)))


NAMES = {"symptom": {"c oom": "device-out-of-memory", "hang": "runtime-hang", "hang in stage": "setup-hang"}}


@pytest.mark.parametrize(
    ("line", "corrections"),
    [
        ("/triage wrong symptom C oom", {"symptom": "device-out-of-memory"}),
        ("/triage wrong symptom=`C oom`.", {"symptom": "device-out-of-memory"}),
        ("/triage wrong symptom Hang stage", {"symptom": "runtime-hang", "stage": None}),
        ("/triage wrong symptom hang in stage, stage", {"symptom": "setup-hang", "stage": None}),
        ("/triage wrong symptom native-crash", {"symptom": "native-crash"}),
    ],
)
def test_names_of_the_repository_are_labels_too(line: str, corrections: dict[str, str | None]) -> None:
    assert parse_command(line, TAXONOMY, NAMES) == Wrong(corrections)


@given(st.text(max_size=300))
def test_any_comment_is_commands_or_none_or_an_error_with_a_name(text: str) -> None:
    for line in find_commands("/triage " + text):
        assert line.lower().startswith("/triage") and "\n" not in line
        with contextlib.suppress(InputError):
            parse_command(line, TAXONOMY)
