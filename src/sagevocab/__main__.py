"""`python -m sagevocab`."""

from __future__ import annotations

import sys

from sagevocab.cli import main

if __name__ == "__main__":
    sys.exit(main())
