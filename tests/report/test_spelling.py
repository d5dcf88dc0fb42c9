"""Tokens of the three kinds of tokenizers, as a reader would write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.report.spelling import Piece, spelt, visible


def joined(tokens: list[str]) -> str:
    return "".join(space + text for text, space in spelt(tokens)).strip()


@pytest.mark.parametrize(
    ("tokens", "read"),
    [
        (["[CLS]", "un", "##watch", "##able", "!", "[SEP]"], "[CLS] unwatchable ! [SEP]"),
        (["The", "Ġkeys", ",", "Ġc", "afÃ©", "ĠðŁĻĤ"], "The keys, café 🙂"),
        (["<s>", "▁The", "▁ke", "ys"], "<s> The keys".replace("> ", "> ")),
        (["A", "Ċ", "ĠB", "ĉ"], "A⏎ B⇥"),
        (["Ġ", "Ġa"], "␣ a"),
        (["##"], "##"),
    ],
)
def test_the_marks_of_tokenizers_become_spaces(tokens: list[str], read: str) -> None:
    assert joined(tokens) == read


def test_bytes_that_are_no_whole_character_stay_unknown() -> None:
    assert spelt(["Ġa", "ðŁ", "ĻĤ"]) == [Piece("a", " "), Piece("�", ""), Piece("��", "")]


def test_every_byte_of_a_byte_level_tokenizer_is_read_as_tokenizers_reads_it() -> None:
    from tokenizers.decoders import ByteLevel
    from tokenizers.pre_tokenizers import ByteLevel as Split

    for character in (*"aé漢ж🙂~\"'", "\u00a0", "ſ"):
        ((token, _),) = Split(add_prefix_space=False, use_regex=False).pre_tokenize_str(f" {character}")
        assert ByteLevel().decode([token]) == f" {character}"
        assert spelt([token]) == [Piece(visible(character), " ")]


@given(st.lists(st.text(max_size=6), max_size=6))
def test_nothing_in_a_token_can_move_the_cursor_or_vanish(tokens: list[str]) -> None:
    pieces = spelt(tokens)
    assert len(pieces) == len(tokens)
    assert all(piece.text.isprintable() and piece.text.strip() for piece in pieces)
