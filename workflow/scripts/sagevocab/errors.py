"""The one error that a user's own mistake raises."""

from __future__ import annotations


class UserError(Exception):
    """A mistake in the input or the configuration, told in one line.

    The message names the file (and line) or the configuration key, says what is wrong and what to
    do about it. Commands and rules print it without a traceback and exit with a code other than 0.
    """

    def __init__(self, message: str) -> None:
        """Keep `message` as a single line, whatever white space it came with."""
        super().__init__(" ".join(message.split()))
