"""Characters to tokens for the three kinds of tokenizers that the paper's models use."""

from __future__ import annotations

from typing import Any

import pytest

from axioms.core.errors import InputError
from axioms.subjects.agreement.align import align, covering, one_token
from axioms.subjects.agreement.grammar import sentences
from axioms.subjects.agreement.sample import Sample


def sample(text: str, subject: str, verb: str, other: str = "are") -> Sample:
    at, there = text.index(subject), text.index(f" {verb}") + 1
    return Sample(text, (there, there + len(verb)), (verb, other), (at, at + len(subject)), 1)


@pytest.mark.parametrize("subject", ["key", "bookkeeper", "kéy"])
@pytest.mark.parametrize("reads", ["last", "mask"])
def test_the_subject_is_the_tokens_that_spell_it(tokenizer: Any, subject: str, reads: Any) -> None:
    text = f"the {subject} to the cabinets is old ."
    (aligned,), counts = align([sample(text, subject, "is")], tokenizer, reads)
    assert not counts
    encoded = tokenizer(aligned.text, return_offsets_mapping=True)
    spelt = "".join(aligned.text[slice(*encoded["offset_mapping"][place])] for place in aligned.truth)
    # Bytes of one character share its offsets; the token before may bring its space along.
    assert dict.fromkeys(spelt.strip()) == dict.fromkeys(subject)
    assert [place for place in aligned.truth if place not in aligned.words] == []
    assert aligned.truth == tuple(range(aligned.truth[0], aligned.truth[-1] + 1))
    outside = set(aligned.words) - set(aligned.truth)
    assert all(
        encoded["offset_mapping"][place][1] <= text.index(subject)
        or encoded["offset_mapping"][place][0] >= text.index(subject) + len(subject)
        for place in outside
    )


def test_forms_are_the_tokens_that_follow(tokenizer: Any) -> None:
    (aligned,), _ = align([sample("the key to the cabinets is old .", "key", "is")], tokenizer, "last")
    whole = tokenizer("the key to the cabinets is", add_special_tokens=False)["input_ids"]
    assert aligned.forms[0] == whole[-1]
    assert aligned.text == "the key to the cabinets"


def test_a_subject_behind_the_mask_is_found_there(tokenizer: Any) -> None:
    text = "here is the key ."
    (aligned,), counts = align([sample(text, "key", "is")], tokenizer, "mask")
    offsets = tokenizer(aligned.text, return_offsets_mapping=True)["offset_mapping"]
    assert "".join(aligned.text[slice(*offsets[place])] for place in aligned.truth).strip() == "key"
    assert not counts


def test_each_filter_is_counted(word_piece: Any) -> None:
    limit = 8
    given = {
        "subject_after_verb": sample("here is the key .", "key", "is"),
        "split_verb": sample("the key to the cabinets cabinetkeys old .", "key", "cabinetkeys"),
        "uncovered_subject": Sample("the \u200b key is", (10, 12), ("is", "are"), (4, 5), 1),
        "only_subject": sample("bookkeepers is old .", "bookkeepers", "is"),
        "too_short": sample("key is old .", "key", "is"),
        "too_long": sample("the key to the cabinets to the cabinets is old .", "key", "is"),
    }
    for name, one in given.items():
        left, counts = align([one], word_piece, "last", limit)
        assert (left, dict(counts)) == ([], {name: 1}), name


def test_a_word_that_changes_the_tokens_before_it_is_no_token_of_its_own(word_piece: Any, byte_level: Any) -> None:
    assert one_token(byte_level, "the key", "is") is not None
    assert one_token(word_piece, "the key", "Ω") is None  # unknown to the tokenizer


def test_the_masked_effective_input_leaves_out_special_tokens(word_piece: Any) -> None:
    (aligned,), _ = align([sample("the key to the cabinets is old .", "key", "is")], word_piece, "mask")
    tokens = word_piece(aligned.text)["input_ids"]
    assert aligned.length == len(tokens)
    assert {tokens[place] for place in set(range(aligned.length)) - set(aligned.words)} == {2, 3, 4}


def test_covering_needs_a_character_in_common() -> None:
    assert covering([(0, 0), (0, 3), (3, 7), (7, 8)], (4, 7)) == (2,)
    assert covering([(0, 0), (0, 3)], (3, 5)) == ()


def test_slow_tokenizers_and_models_without_a_mask_are_refused(byte_level: Any) -> None:
    with pytest.raises(InputError, match="fast tokenizer"):
        align([], object(), "last")
    byte_level.mask_token = None
    with pytest.raises(InputError, match="no mask token"):
        align(sentences(1), byte_level, "mask")
