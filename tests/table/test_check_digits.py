"""Check digits equal their definitions: of all digits that could stand there, the right one alone passes."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table import check_digits
from tests.naive import check_digits as naive

DIGITS = "0123456789"


def digits(n: int) -> st.SearchStrategy[str]:
    return st.text(DIGITS, min_size=n, max_size=n)


@given(st.integers(1, 18).flatmap(digits))
def test_luhn(number: str) -> None:
    right = naive.luhn_digit(number)
    assert [digit for digit in DIGITS if check_digits.luhn(number + digit)] == [right]
    if len(number) <= 5:
        assert check_digits.loinc(f"{number}-{right}")


@given(st.sampled_from(["DE", "GB", "PL", "FR"]), st.text(DIGITS + string.ascii_uppercase, min_size=11, max_size=30))
def test_iban(country: str, account: str) -> None:
    right = naive.iban_digits(country, account)
    assert [n for n in range(2, 99) if check_digits.iban(f"{country}{n:02d}{account}")] == [int(right)]


@given(st.sampled_from(string.ascii_uppercase), digits(8))
def test_kvnr(letter: str, number: str) -> None:
    right = naive.kvnr_digit(letter, number)
    assert [digit for digit in DIGITS if check_digits.kvnr(letter + number + digit)] == [right]


@given(st.permutations(DIGITS), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_steuer_id(order: list[str], first: int, second: int, third: int) -> None:
    number = list(order)
    number[first] = number[second]
    number[third] = number[second]
    text = "".join(number)
    counts = sorted(text.count(digit) for digit in set(text))
    is_given_out = text[0] != "0" and counts[-1] in (2, 3) and counts[-2] == 1
    right = [naive.steuer_id_digit(text)] if is_given_out else []
    assert [digit for digit in DIGITS if check_digits.steuer_id(text + digit)] == right


@given(digits(13))
def test_nir(number: str) -> None:
    right = naive.nir_key(number)
    assert [n for n in range(100) if check_digits.nir(f"{number}{n:02d}")] == [int(right)]


def test_nir_of_corsica() -> None:
    for department, stands_for in (("2A", "19"), ("2B", "18")):
        key = naive.nir_key(f"18505{stands_for}123456")
        assert check_digits.nir(f"18505{department}123456{key}")


@given(digits(8))
def test_dni_and_nie(number: str) -> None:
    right = naive.dni_letter(number)
    assert [letter for letter in string.ascii_uppercase if check_digits.dni(number + letter)] == [right]
    if number[0] in "012":
        assert check_digits.dni("XYZ"[int(number[0])] + number[1:] + right)


@given(digits(9))
def test_bsn(number: str) -> None:
    assert check_digits.bsn(number) == naive.bsn_is_right(number)


@given(digits(8))
def test_nif(number: str) -> None:
    assert [digit for digit in DIGITS if check_digits.nif(number + digit)] == [naive.nif_digit(number)]


@given(digits(2), st.integers(0, 99), st.integers(0, 40), digits(4))
def test_pesel(year: str, month: int, day: int, rest: str) -> None:
    number = f"{year}{month:02d}{day:02d}{rest}"
    is_day = month % 20 in range(1, 13) and day in range(1, 32)
    right = [naive.pesel_digit(number)] if is_day else []
    assert [digit for digit in DIGITS if check_digits.pesel(number + digit)] == right


@given(digits(9))
def test_nhs(number: str) -> None:
    right = naive.nhs_digit(number)
    assert [digit for digit in DIGITS if check_digits.nhs(number + digit)] == ([] if right is None else [right])


@given(st.text(DIGITS + string.ascii_uppercase, min_size=15, max_size=15))
def test_codice_fiscale(signs: str) -> None:
    right = naive.codice_fiscale_letter(signs)
    assert [letter for letter in string.ascii_uppercase if check_digits.codice_fiscale(signs + letter)] == [right]


EXAMPLES = {
    "KVNR": "A123456780",
    "Steuer-ID": "86 095 742 719",
    "NIR": "2 55 08 14 168 025 38",
    "DNI": "12345678-Z",
    "codice fiscale": "rssmra85t10a562s",
    "BSN": "111.222.333",
    "NIF": "123456789",
    "PESEL": "44051401359",
    "NHS": "943 476 5919",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "card": "4111 1111 1111 1111",
}
"""Examples that those who give the numbers out, or textbooks, print."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_known_in_groups_and_without(name: str) -> None:
    every = [*check_digits.PERSON_NUMBERS, *check_digits.ACCOUNT_NUMBERS]
    (checked,) = (each for each in every if name in each.told)
    assert checked.fits(EXAMPLES[name])
    plain = check_digits.tidy(EXAMPLES[name])
    last = plain[-1]
    other = next(sign for sign in (DIGITS if last.isdigit() else string.ascii_uppercase) if sign != last)
    assert not checked.fits(plain[:-1] + other)
    assert not checked.fits("")
