"""Tokens in the terminal: readable, within the width, and never by colour alone."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.commands.explain.explain import Answer
from axioms.commands.explain.terminal import BLUES, REDS, block, columns, legend, signed, tokens, wants_colour
from axioms.core.printable import UNSEEN
from axioms.report.spelling import Piece, spelt

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
PIECES = [Piece("un", " "), Piece("watch", ""), Piece("able", ""), Piece("film", " ")]
ANSWER = Answer("attnlrp", (0.5, -1.0, 0.0, 0.3), loo_r=0.314)


def rgb(number: int) -> tuple[int, int, int]:
    """The colour cube of 256-colour terminals."""
    steps = (0, 95, 135, 175, 215, 255)
    red, green, blue = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return steps[red], steps[green], steps[blue]


def luminance(colour: tuple[float, ...]) -> float:
    """WCAG 2's relative luminance."""
    parts = [each / 255 for each in colour]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("background", "ink"), [*REDS, *BLUES])
def test_every_colour_can_be_read(background: int, ink: int) -> None:
    assert contrast(rgb(background), rgb(ink)) >= 4.5


def test_reds_are_red_blues_are_blue_and_each_is_stronger_than_the_last() -> None:
    for palette, strong in ((REDS, 0), (BLUES, 2)):
        shades = [rgb(background) for background, _ in palette]
        assert all(max(shade) == shade[strong] for shade in shades)
        assert sorted(shades, key=luminance, reverse=True) == shades


def test_without_colour_each_token_has_its_number() -> None:
    assert tokens(ANSWER, PIECES, width=80, colour=False) == ["  un(+0.50)watch(-1.00)able(0.00) film(+0.30)"]


@pytest.mark.parametrize("colour", [True, False])
def test_nothing_that_a_token_or_a_name_says_acts_on_the_terminal(colour: bool) -> None:
    hostile = "\x1b[31mred\x1b]0;title\x07\x9b2J\r\u202e <b>"
    pieces = [Piece(hostile, " "), *spelt([hostile])]
    lines = block(Answer(hostile, (0.5, -1.0)), pieces, width=80, colour=colour)
    lines += block(Answer(hostile, reason=hostile), pieces, width=80, colour=colour)
    text = ESCAPE.sub("", "\n".join(lines)) if colour else "\n".join(lines)
    assert not UNSEEN.search(text)
    assert text.count(r"\x1b[31mred") == 4, "the method twice, a token, and why there is no answer"
    assert "�[31mred" in text, "a token as it is spelt"


def test_with_colour_each_has_its_shade_and_small_ones_none() -> None:
    (line,) = tokens(ANSWER, PIECES, width=80, colour=True)
    assert ESCAPE.sub("", line) == "  unwatchable film"
    red, blue, faint = REDS[2], BLUES[-1], REDS[1]
    painted = [f"\x1b[48;5;{back}m\x1b[38;5;{ink}m{{}}\x1b[0m" for back, ink in (red, blue, faint)]
    assert line == "  " + painted[0].format("un") + painted[1].format("watch") + "able " + painted[2].format("film")


texts = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x30FF, categories=("L", "N", "P")), min_size=1, max_size=8
)


@given(st.lists(st.tuples(texts, st.sampled_from(["", " "]), st.floats(-5, 5)), min_size=1, max_size=30), st.booleans())
def test_lines_keep_to_the_width_and_lose_nothing(given: list[tuple[str, str, float]], colour: bool) -> None:
    pieces = [Piece(text, space) for text, space, _ in given]
    lines = tokens(Answer("m", tuple(score for *_, score in given)), pieces, width=40, colour=colour)
    plain = [ESCAPE.sub("", line) for line in lines]
    assert max(columns(line) for line in plain) <= 40
    if colour:
        joined = "".join(line.removeprefix("  ") for line in plain)
        assert joined.replace(" ", "") == "".join(piece.text for piece in pieces)


def test_a_block_says_sum_and_r_or_why_there_is_nothing() -> None:
    head, *_ = block(ANSWER, PIECES, width=80, colour=False)
    assert re.fullmatch(r"attnlrp +sum -0.20   LOO r 0.31", head)
    assert "LOO r" not in block(Answer("m", ANSWER.scores), PIECES, width=80, colour=False)[0]
    refused = block(Answer("alti_logit", reason="it is not defined " * 10), PIECES, width=40, colour=False)
    assert refused[0] == "alti_logit"
    assert max(map(len, refused)) <= 40


@pytest.mark.parametrize(
    ("score", "largest", "text"),
    [
        (1.234, 3.0, "+1.23"),
        (-0.001, 3.0, "0.00"),
        (0.0123, 0.3, "+0.012"),
        (-2e-7, 1e-6, "-2e-07"),
        (0.0, 0.0, "0.00"),
    ],
)
def test_numbers_have_the_digits_that_they_need(score: float, largest: float, text: str) -> None:
    assert signed(score, largest) == text


def test_who_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    assert "\x1b" not in legend(False)
    assert "\x1b" in legend(True)
