"""The encoding of a text, found in its bytes: by its mark, by being UTF-8, or by which encoding makes words of it."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from unicodedata import category

from shoal.errors import InputError
from shoal.reading.source import Finding

ENCODINGS = ("cp1252", "iso-8859-15", "cp1250", "iso-8859-2", "cp850", "mac-roman")
"""Encodings in which each letter is one byte, the likeliest first; of two that fit alike the first is taken."""
FEWEST_GOOD_WORDS = 0.8


def find_encoding(name: str, data: bytes) -> Finding:
    """The encoding of a text: by its mark, by being UTF-8, or by which encoding makes words of it."""
    marks = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8",
             codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
    for mark, encoding in marks.items():
        if data.startswith(mark):
            return _encoding(encoding, "The file begins with the mark of it.")
    wide = _wide(data)
    if wide is not None:
        return _encoding(wide, "Every other byte is zero.")
    if data.isascii():
        return _encoding("utf-8", "The file has plain letters only.")
    with suppress(UnicodeDecodeError):
        data.decode("utf-8")
        return _encoding("utf-8", "All letters of the file are valid in it.")
    if _is_mostly_utf8(data):
        return _encoding("utf-8", "Most letters of the file are valid in it, and not all.")
    return _of_one_byte(name, data)


def _encoding(reading: str, reason: str, alternatives: Sequence[str] = ()) -> Finding:
    return Finding(what="encoding", reading=reading, reason=reason, alternatives=tuple(alternatives))


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark, where nearly every other byte is zero."""
    if len(data) % 2 or b"\0" not in data:
        return None
    half = len(data) // 2
    even, odd = data[::2].count(0) / half, data[1::2].count(0) / half
    if odd > 0.5 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.5 and odd < 0.05 else None


def _is_mostly_utf8(data: bytes) -> bool:
    n_high = sum(map(len, re.findall(rb"[\x80-\xff]+", data)))
    n_valid = sum(map(len, re.findall(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}", data)))
    return n_valid * 2 > n_high


def _of_one_byte(name: str, data: bytes) -> Finding:
    words = Counter(re.findall(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*", data))
    words = Counter({word: times for word, times in words.items() if len(word) > 1})
    n_words = sum(words.values())
    long_runs = sum(times for word, times in words.items() if re.search(rb"[\x80-\xff]{4}", word))
    scores: dict[str, float] = {}
    for encoding in ENCODINGS:
        with suppress(UnicodeDecodeError):
            data.decode(encoding)
            good = sum(times for word, times in words.items() if _is_word(word.decode(encoding)))
            scores[encoding] = good / n_words if n_words else 1.0
    best = max(scores, key=lambda each: scores[each])  # the first of the best
    if long_runs * 5 > n_words or scores[best] < FEWEST_GOOD_WORDS:
        raise InputError(
            f"{name} is not UTF-8, and its encoding cannot be told: {n_words:,} words have other letters than a to z, "
            "and no usual encoding makes most of them words. Name it with encoding=, for instance encoding='cp1251'."
        )
    text = data.decode(best)
    others = [each for each, score in scores.items()
              if each != best and score >= scores[best] - 0.05 and data.decode(each) != text]  # fmt: skip
    doubt = f" {' and '.join(others)} would make words of them too." if others else ""
    reason = (
        f"It is not UTF-8, and {scores[best]:.0%} of {n_words:,} words with other letters than a to z are words in it."
        f"{doubt}"
    )
    return _encoding(best, reason, others)


def _is_word(word: str) -> bool:
    """Whether a word has letters only, and capitals at its beginning or throughout."""
    is_letters = all(letter.isascii() or category(letter) in ("Ll", "Lu") for letter in word)
    return is_letters and (word[1:] == word[1:].lower() or word == word.upper())
