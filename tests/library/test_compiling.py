"""Compiled functions are kept where a folder can be written."""

from __future__ import annotations

from pathlib import Path

import numba

from sagevocab.numba_cache import provide_cache
from sagevocab.progress_bar import listener


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


def test_who_looks_on_reads_once_that_code_is_compiled(capsys) -> None:
    first, second = numba.njit(lambda number: number + 1), numba.njit(lambda number: number + 2)
    with listener(True):
        first(1)
        second(1)
    assert capsys.readouterr().err.count("compiling") == 1
    with listener(True):
        first(1)
    assert "compiling" not in capsys.readouterr().err
