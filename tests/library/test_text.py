"""Lines of text files: any compression, what is dropped, and bytes that are damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

from sagevocab.corpus.text import read_lines, write_lines, zstd
from sagevocab.errors import UserError

TEXT = "Birinci satır\nikinci\u2028satır\n\nson"
LINES = ["Birinci satır", "ikinci\u2028satır", "", "son"]
COMPRESSORS = {
    "plain": bytes,
    "bz2": bz2.compress,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_lines_are_read_whatever_the_compression_and_name(tmp_path, compression) -> None:
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[compression](TEXT.encode()))
    assert list(read_lines(path)) == LINES


NUMBERS = "".join(f"line {i * i}\n" for i in range(20000)).encode()
FAULTS = [
    *((name, lambda whole: whole[:-20]) for name in ("bz2", "gz", "xz", "zst")),
    ("zst", lambda whole: whole[:-1]),
    ("zst", lambda whole: whole[:5]),
    ("zst", lambda whole: whole + whole[:-20]),
    ("zst", lambda whole: whole + b"garbage"),
    ("gz", lambda whole: whole + b"garbage"),
]


@pytest.mark.parametrize(("compression", "damage"), FAULTS)
def test_a_damaged_file_is_an_error_and_not_a_shorter_text(tmp_path, compression, damage) -> None:
    path = tmp_path / "text"
    path.write_bytes(damage(COMPRESSORS[compression](NUMBERS)))
    with pytest.raises(UserError, match="is damaged or cut .*; fetch") as caught:
        list(read_lines(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("compression", ["plain", "bz2", "gz", "xz", "zst"])
def test_several_streams_are_one_text_and_an_empty_one_has_no_lines(tmp_path, compression) -> None:
    path = tmp_path / "text"
    compress = COMPRESSORS[compression]
    path.write_bytes(compress(b"a\nb\n") + compress(b"") + compress(b"c\n"))
    assert list(read_lines(path)) == ["a", "b", "c"]
    path.write_bytes(compress(b""))
    assert list(read_lines(path)) == []


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

    # The last bytes are a checksum: damage that still decodes is seen.
    damaged = bytearray((tmp_path / "a.txt.zst").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "b.txt.zst").write_bytes(damaged)
    with pytest.raises(UserError, match="is damaged or cut"):
        list(read_lines(tmp_path / "b.txt.zst"))

    def broken():
        yield "a"
        raise UserError("stop")

    with pytest.raises(UserError, match="stop"):
        write_lines(tmp_path / "c.txt.zst", broken())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt.zst", "b.txt.zst"]
