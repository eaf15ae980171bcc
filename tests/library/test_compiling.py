"""Compiled functions are kept where a folder can be written."""

from __future__ import annotations

from pathlib import Path

import numba

from sagevocab.numba_cache import provide_cache


def test_where_no_folder_can_be_written_it_says_so(monkeypatch, caplog) -> None:
    def refuse(**options):
        def decorate(function):
            raise RuntimeError("cannot cache function: no locator available")

        return decorate

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(numba, "njit", refuse)
    provide_cache.__wrapped__()
    assert Path(numba.config.CACHE_DIR).is_dir()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "set NUMBA_CACHE_DIR" in caplog.text
