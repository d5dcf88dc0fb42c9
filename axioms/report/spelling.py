"""Tokens as a reader would write them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

BEGINS = ("Ġ", "▁")
"""Marks of tokens that begin a word: of byte-level tokenizers and of SentencePiece."""
CONTINUES = "##"
"""WordPiece's mark of tokens that do not."""
VISIBLE = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
EMPTY = "␣"


class Piece(NamedTuple):
    """A token as it is shown, and the space before it."""

    text: str
    space: str


def spelt(tokens: Sequence[str]) -> list[Piece]:
    """Each token without the marks of its tokenizer; nothing in it can move a cursor."""
    bytewise = any(BEGINS[0] in token for token in tokens)
    marked = bytewise or any(token.startswith(BEGINS) for token in tokens)
    return [_piece(_decoded(token) if bytewise else token, marked) for token in tokens]


def _piece(token: str, marked: bool) -> Piece:
    if token.startswith(CONTINUES) and not marked and token != CONTINUES:
        return Piece(visible(token.removeprefix(CONTINUES)), "")
    begins = token.startswith((" ", *BEGINS)) if marked else True
    return Piece(visible(token[1:] if marked and begins else token), " " if begins else "")


def visible(text: str) -> str:
    """The text in one line, with a sign for what cannot be seen or printed."""
    shown = "".join(VISIBLE.get(sign, sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}") for sign in text)
    return shown if shown.strip() else shown.replace(" ", EMPTY) or EMPTY


def _decoded(token: str) -> str:
    """Byte-level tokens write each byte as a printable character; bytes that are no whole character stay unknown."""
    alphabet = _byte_alphabet()
    if any(sign not in alphabet for sign in token):
        return token
    return bytes(alphabet[sign] for sign in token).decode("utf-8", errors="replace")


@cache
def _byte_alphabet() -> dict[str, int]:
    """Bytes that can be printed stand for themselves; the others, in order, for the characters from 256 on."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + at): byte for at, byte in enumerate(others)}
