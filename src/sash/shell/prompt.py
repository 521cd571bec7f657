"""A prompt for people: lines with history, completion and colours, until a statement is whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from pygments.lexers.sql import SqlLexer

from sash.errors import SashError
from sash.shell.completion import Names
from sash.shell.session import Quit, Session
from sash.shell.splitting import is_whole


def history_file() -> Path:
    """Where lines are remembered from one session to the next: for this user alone."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "sash" / "history"


def interact(session: Session, tell: Callable[[str], None], source: Input | None = None, screen: Output | None = None) -> None:
    """Ask and answer until Ctrl-D or \\q. Ctrl-C forgets what was typed."""
    prompt: PromptSession[str] = PromptSession(
        "sash> ", multiline=True, prompt_continuation="   -> ", key_bindings=_keys(), history=_history(),
        completer=Names(session.connection), complete_while_typing=False, auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(SqlLexer), input=source, output=screen,
    )  # fmt: skip
    while True:
        try:
            with patch_stdout():
                text = prompt.prompt()
            session.take(text)
        except SashError as error:
            tell(str(error))
        except KeyboardInterrupt:
            continue
        except (EOFError, Quit):
            return


def _keys() -> KeyBindings:
    """Enter sends what is whole, and begins another line of what is not."""
    keys = KeyBindings()

    @Condition
    def is_ready() -> bool:
        from prompt_toolkit.application import get_app

        return is_whole(get_app().current_buffer.text)

    @keys.add("enter", filter=is_ready)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def _history() -> History:
    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600))
    except OSError:  # a home that cannot be written to
        return InMemoryHistory()
    return FileHistory(path)
