# ruff: noqa: F401, F811  # fixtures
"""The installed program, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from distriage.commands import app
from distriage.commands.main import main

from support.checkout import REPOSITORY
from support.cli_reports import REPORT, document, schema
from support.command_line import Finished, assert_one_line

PROGRAM = Path(sys.executable).with_name("distriage")


def program(*arguments: object, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        input=stdin.decode(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


def test_the_program_classifies(keyword_bundle: Path, schema: dict[str, Any]) -> None:
    done = program("classify", "--json", "--model", keyword_bundle, stdin=REPORT.encode())
    assert document(Finished(done.returncode, done.stdout, done.stderr), schema)["axes"]["symptom"]["label"] == "hang"


@pytest.mark.parametrize("form", [(), ("--json",), ("--jsonl",)])
@pytest.mark.parametrize("system", [{"PYTHONIOENCODING": "cp1252"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}])
def test_a_pipe_gets_utf8_whatever_the_system_speaks(
    keyword_bundle: Path, form: tuple[str, ...], system: dict[str, str]
) -> None:
    title = "训练卡住 it hangs"
    done = subprocess.run(
        [PROGRAM, "classify", *form, "--model", keyword_bundle],
        input=title.encode(),
        capture_output=True,
        env={**os.environ, "PYTHONCOERCECLOCALE": "0", **system},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert title in done.stdout.decode("utf-8")


def test_a_message_that_the_system_cannot_write_is_no_traceback(keyword_bundle: Path) -> None:
    done = program("classify", "训练.md", "--model", keyword_bundle, PYTHONIOENCODING="cp1252")
    assert_one_line(Finished(done.returncode, done.stdout, done.stderr), "??.md: cannot be read")


def test_the_program_ends_bad_input_in_one_line(keyword_bundle: Path, tmp_path: Path) -> None:
    done = program("classify", tmp_path / "none.md", "--model", keyword_bundle)
    assert_one_line(
        Finished(done.returncode, done.stdout, done.stderr), "none.md: cannot be read: No such file or directory"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("taxonomy", "--json"), ("classify",)])
def test_a_full_disk_is_said_in_one_line(keyword_bundle: Path, words: tuple[str, ...]) -> None:
    options = ("--model", keyword_bundle) if words[0] == "classify" else ()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PROGRAM, *words, *options], input=REPORT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert_one_line(
        Finished(done.returncode, "", done.stderr), "standard output: cannot be written: No space left on device"
    )


def test_a_file_whose_name_is_not_utf8(keyword_bundle: Path, tmp_path: Path, schema: dict[str, Any]) -> None:
    name = os.fsencode(tmp_path) + b"/r\xff.md"
    try:
        Path(os.fsdecode(name)).write_text(REPORT, encoding="utf-8")
    except OSError:
        pytest.skip("this file system refuses such names")
    done = subprocess.run(
        [PROGRAM, "classify", name, "--json", "--model", keyword_bundle],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert document(Finished(done.returncode, done.stdout, done.stderr), schema)["id"].endswith("/r?.md")


def test_a_reader_that_goes_away_gets_no_traceback(keyword_bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "reports.jsonl"
    file.write_text('{"title": "it hangs", "body": ""}\n' * 400, encoding="utf-8")
    with subprocess.Popen(
        [PROGRAM, "classify", file, "--model", keyword_bundle], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode != 0


@pytest.mark.parametrize(
    ("module", "command", "said"),
    [
        ("torch", ["train", "tiny.toml"], "torch; type: pip install 'distriage[train]' (in a checkout: '.[train]')"),
        (
            "resource",
            ["serve"],
            "resource, which this Python lacks; on Windows use WSL or a container",
        ),  # Windows lacks it
    ],
)
def test_a_command_whose_module_is_missing_says_what_to_do(module: str, command: list[str], said: str) -> None:
    """Blocks an import, as in an installation without the extra; `test_install.py` tries the real one."""
    code = (
        "import sys; sys.modules[sys.argv[1]] = None; from distriage.commands.main import main; "
        "sys.argv = ['distriage', *sys.argv[2:]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, module, *command],
        cwd=REPOSITORY / "configs",
        capture_output=True,
        text=True,
        check=False,
    )
    assert_one_line(Finished(done.returncode, done.stdout, done.stderr), f"this command needs {said}")


def test_every_command_of_the_server_says_which_extra_it_needs(tmp_path: Path) -> None:
    calls = [
        ["serve"],
        ["worker"],
        ["backtest", "a/b"],
        ["backfill", "a/b"],
        ["inbox", "list"],
        ["reviews", "export"],
        ["sessions", "list"],
        ["import-database", "x.db"],
    ]
    code = (
        "import json, sys\n"
        "for name in 'sqlalchemy alembic fastapi starlette uvicorn pydantic_settings jinja2 jwt'.split():\n"
        "    sys.modules[name] = None\n"
        "from distriage.commands.main import main\n"
        "for call in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['distriage', *call]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        print(end.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(calls)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines()
    assert len(lines) == len(calls) and done.stdout.split() == ["2"] * len(calls), done.stderr
    assert all(line.endswith("; type: pip install 'distriage[serve]' (in a checkout: '.[serve]')") for line in lines)


def test_the_action_needs_no_extra() -> None:
    """It installs what requirements-action.txt holds."""
    code = (
        "import sys\n"
        "for name in 'sqlalchemy alembic fastapi starlette uvicorn pydantic_settings jinja2 jwt'.split():\n"
        "    sys.modules[name] = None\n"
        "import distriage_serving.action.run\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_imports_stay_light() -> None:
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "    heavy = {'torch', 'transformers', 'onnxruntime', 'numpy', 'fastapi', 'sklearn'} & set(sys.modules)\n"
        "    assert not heavy, (name, heavy)\n"
    )
    modules = (
        "distriage",
        "distriage.model.taxonomy",
        "distriage.recipe.text",
        "distriage.github.client",
        "distriage.commands.main",
    )
    done = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_main_is_the_entry_point() -> None:
    from importlib.metadata import entry_points

    (point,) = entry_points(group="console_scripts", name="distriage")
    assert point.load() is main


@pytest.mark.parametrize(
    "error", [ImportError("initialization failed"), ValueError("Error building `model`: KeyboardInterrupt: ")]
)
def test_ctrl_c_that_a_package_made_an_error_of_while_it_loads_ends_as_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def interrupted(_: str) -> NoReturn:
        raise error from (KeyboardInterrupt() if isinstance(error, ImportError) else None)

    monkeypatch.setattr(app, "build_app", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_another_error_of_a_package_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> NoReturn:
        raise ImportError("initialization failed")

    monkeypatch.setattr(app, "build_app", broken)
    with pytest.raises(ImportError, match="initialization failed"):
        main()
