"""Lines of text files: any compression, what is dropped, and bytes that are damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest
import zstandard

from sagevocab.corpus.text import read_lines, write_lines
from sagevocab.errors import UserError

TEXT = "Birinci satır\nikinci\u2028satır\n\nson"
LINES = ["Birinci satır", "ikinci\u2028satır", "", "son"]
COMPRESSORS = {
    "plain": bytes,
    "bz2": bz2.compress,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_lines_are_read_whatever_the_compression_and_name(tmp_path, compression) -> None:
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[compression](TEXT.encode()))
    assert list(read_lines(path)) == LINES


@pytest.mark.parametrize("compression", ["bz2", "gz", "xz", "zst"])
def test_a_truncated_file_is_an_error_and_not_a_shorter_text(tmp_path, compression) -> None:
    path = tmp_path / "text"
    whole = COMPRESSORS[compression]("".join(f"line {i * i}\n" for i in range(20000)).encode())
    path.write_bytes(whole[:-20])
    with pytest.raises(UserError, match="truncated|damaged") as caught:
        list(read_lines(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("compression", ["gz", "zst"])
def test_concatenated_streams_are_one_text(tmp_path, compression) -> None:
    path = tmp_path / "text"
    compress = COMPRESSORS[compression]
    path.write_bytes(compress(b"a\nb\n") + compress(b"c\n"))
    assert list(read_lines(path)) == ["a", "b", "c"]


def test_line_ends_of_windows_and_a_byte_order_mark_are_dropped(tmp_path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffa\r\nb\ufeff\r\n".encode())
    assert list(read_lines(path)) == ["a", "b\ufeff"]


def test_a_stray_nul_is_dropped_with_a_warning_and_utf_16_is_refused(tmp_path, caplog) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"good\na review of 10\0 points, the best there is\n")
    assert list(read_lines(path)) == ["good", "a review of 10 points, the best there is"]
    assert f"{path}:2: a NUL character was dropped" in caplog.text
    path.write_bytes("good\n".encode("utf-16-le"))
    with pytest.raises(UserError, match=f"{path}:1: holds many NUL"):
        list(read_lines(path))


def test_equal_lines_are_equal_bytes_and_an_error_leaves_nothing(tmp_path) -> None:
    lines = [f"satır {i}" for i in range(10000)]
    assert write_lines(tmp_path / "a.txt.zst", lines) == 10000
    write_lines(tmp_path / "b.txt.zst", iter(lines))
    assert (tmp_path / "a.txt.zst").read_bytes() == (tmp_path / "b.txt.zst").read_bytes()

    def broken():
        yield "a"
        raise UserError("stop")

    with pytest.raises(UserError, match="stop"):
        write_lines(tmp_path / "c.txt.zst", broken())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt.zst", "b.txt.zst"]
