"""The command line's entry: errors of ours end in one line and exit code 2."""

from __future__ import annotations

import atexit
import gc
import sys

from distriage.base.errors import DistriageError
from distriage.base.terminal import give_up_output, is_full, let_go_of_output, say, speak_utf8

# Nearly all that imports make stays. One answer took a seventh longer with the search for cycles among it, which Python
# begins after every 700 new objects and repeats at exit.
GC_THRESHOLD = 200_000  # one answer makes 60,000
atexit.register(gc.freeze)


def main() -> None:
    """Entry point: errors of ours end in one line and exit code 2."""
    gc.set_threshold(GC_THRESHOLD)
    speak_utf8()
    try:
        from distriage.commands.asked import answer, plainly_asked

        if (asked := plainly_asked(sys.argv[1:])) is not None:
            answer(asked)
            return
        if sys.argv[1:] == ["mcp"]:  # the parser of options takes as long to import as the first answer
            from distriage.agents.start import start

            start()
            return
        from distriage.commands.app import build_app
        from distriage.commands.typed import run

        run(build_app(sys.argv[1] if sys.argv[1:] else ""))
    except DistriageError as error:
        say(str(error))
        sys.exit(2)
    except BrokenPipeError:
        let_go_of_output()
        sys.exit(1)
    except OSError as error:
        if not is_full(error):
            raise
        give_up_output(error)
        sys.exit(2)
    except KeyboardInterrupt:  # while packages load; Typer ends a command so, and one whose reader went away with 1
        sys.exit(130)
    except Exception as error:
        import traceback

        if "KeyboardInterrupt" in "".join(traceback.format_exception(error, limit=0)):  # a package made its own of it
            sys.exit(130)
        raise
