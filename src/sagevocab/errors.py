"""The errors that a user's own mistake raises."""

from __future__ import annotations

import sys


class UserError(Exception):
    """A mistake in the input or the configuration, explained in one line.

    The message names the file (and line) or the configuration key, says what is wrong and what to
    do about it. Commands and rules print it without a traceback and exit with a non-zero code.
    """

    def __init__(self, message: str) -> None:
        """Keep `message` as a single line, whatever white space it came with."""
        super().__init__(" ".join(message.split()))


class SettingError(UserError, ValueError):
    """A setting that cannot be used: its dotted key, and what is wrong with it.

    It is a ValueError too, so that pydantic collects it where a validator raises it.
    """

    def __init__(self, key: str, reason: str) -> None:
        """Join key and reason to a line; without a key the reason stands alone."""
        super().__init__(f"{key}: {reason}" if key else reason)
        self.key, self.reason = key, reason

    def under(self, parent: str) -> SettingError:
        """Return the same error with its key inside the section `parent`."""
        return SettingError(".".join(filter(None, (parent, self.key))), self.reason)


def tell(line: str) -> None:
    """Print a line to the terminal: in a rule, standard error is its log."""
    if sys.__stderr__ is not None:
        print(line, file=sys.__stderr__, flush=True)
