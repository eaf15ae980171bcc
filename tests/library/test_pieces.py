from __future__ import annotations

import pytest

from sagevocab.errors import UserError
from sagevocab.pieces import is_single_character, piece_length, read_pieces, write_pieces


def test_single_characters_are_so_with_or_without_a_word_start():
    assert all(map(is_single_character, ["a", "▁", "▁a", "İ", "▁é", "😀"]))
    assert not any(map(is_single_character, ["ab", "▁ab", "▁▁a", "e\u0301", "a▁"]))


def test_pieces_survive_a_round_trip(tmp_path):
    # Characters at which str.splitlines would cut are ordinary in a piece.
    pieces = ["▁", "a", "\u2028", "\x85b", "\r", "▁\u3000", "😀"]
    write_pieces(tmp_path / "pieces.txt", pieces)
    assert read_pieces(tmp_path / "pieces.txt") == pieces


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\na\n", "pieces.txt:3: 'a' is on line 1 already"),
        (b"a\n\nb\n", "pieces.txt:2: '' is no piece"),
        (b"", "pieces.txt:1: '' is no piece"),
        (b"a\n\xff\n", "pieces.txt: is not UTF-8 (byte 2)"),
    ],
)
def test_a_bad_file_is_given_by_file_and_line(tmp_path, content, message):
    path = tmp_path / "pieces.txt"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_pieces(path)
    assert message in str(error.value)


def test_a_missing_file_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_pieces(tmp_path / "pieces.txt")


@pytest.mark.parametrize("pieces", [[], ["a", "a"], ["a\nb"], [""]])
def test_what_cannot_be_read_back_is_not_written(tmp_path, pieces):
    with pytest.raises(UserError):
        write_pieces(tmp_path / "pieces.txt", pieces)
    assert list(tmp_path.iterdir()) == []


def test_a_byte_is_one_character_long() -> None:
    assert piece_length("▁w<0xE6><0x88>") == 3
