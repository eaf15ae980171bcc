from __future__ import annotations

from sagevocab.pieces import is_single_character, piece_length, read_pieces, write_pieces


def test_single_characters_are_so_with_or_without_a_word_start():
    assert all(map(is_single_character, ["a", "▁", "▁a", "İ", "▁é", "😀"]))
    assert not any(map(is_single_character, ["ab", "▁ab", "▁▁a", "e\u0301", "a▁"]))


def test_pieces_survive_a_round_trip(tmp_path):
    # Characters at which str.splitlines would cut are ordinary in a piece.
    pieces = ["▁", "a", "\u2028", "\x85b", "\r", "▁\u3000", "😀"]
    write_pieces(tmp_path / "pieces.txt", pieces)
    assert read_pieces(tmp_path / "pieces.txt") == pieces


def test_a_byte_is_one_character_long() -> None:
    assert piece_length("▁w<0xE6><0x88>") == 3
