"""Check digits as those who give the numbers out describe them. Never optimise; never import the package here."""

from __future__ import annotations


def cross_sum(number: int) -> int:
    return sum(int(digit) for digit in str(number))


def luhn_digit(digits: str) -> str:
    """The digit to put behind: from the right every other one counts twice, beginning with the last."""
    total = 0
    twice = True
    for digit in reversed(digits):
        total += cross_sum(int(digit) * 2) if twice else int(digit)
        twice = not twice
    return str((10 - total % 10) % 10)


def iban_digits(country: str, account: str) -> str:
    """98 minus the remainder by 97 of the account, the country and two zeros, letters as 10 to 35."""
    values = {**{str(digit): str(digit) for digit in range(10)}, **{chr(65 + n): str(10 + n) for n in range(26)}}
    remainder = 0
    for sign in account + country + "00":
        for digit in values[sign]:
            remainder = (remainder * 10 + int(digit)) % 97
    return f"{98 - remainder:02d}"


def kvnr_digit(letter: str, digits: str) -> str:
    number = f"{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.index(letter) + 1:02d}" + digits
    total = 0
    for place in range(10):
        weight = 1 if place in (0, 2, 4, 6, 8) else 2
        total += cross_sum(int(number[place]) * weight)
    return str(total % 10)


def steuer_id_digit(digits: str) -> str:
    product = 10
    for digit in digits:
        total = (int(digit) + product) % 10
        if total == 0:
            total = 10
        product = (total * 2) % 11
    check = 11 - product
    return str(0 if check == 10 else check)


def nir_key(digits: str) -> str:
    return f"{97 - int(digits) % 97:02d}"


def dni_letter(digits: str) -> str:
    letters = ["T", "R", "W", "A", "G", "M", "Y", "F", "P", "D", "X", "B", "N", "J", "Z", "S", "Q", "V", "H", "L", "C"]
    return [*letters, "K", "E"][int(digits) % 23]


def bsn_is_right(digits: str) -> bool:
    total = 0
    for place in range(8):
        total += int(digits[place]) * (9 - place)
    return digits != "000000000" and (total - int(digits[8])) % 11 == 0


def nif_digit(digits: str) -> str:
    total = 0
    for place in range(8):
        total += int(digits[place]) * (9 - place)
    remainder = total % 11
    return "0" if remainder in (0, 1) else str(11 - remainder)


def pesel_digit(digits: str) -> str:
    weights = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]
    last_digits = [int(digit) * weight % 10 for digit, weight in zip(digits, weights, strict=True)]
    return str((10 - sum(last_digits) % 10) % 10)


def nhs_digit(digits: str) -> str | None:
    total = 0
    for place in range(9):
        total += int(digits[place]) * (10 - place)
    check = 11 - total % 11
    return None if check == 10 else str(0 if check == 11 else check)


def codice_fiscale_letter(signs: str) -> str:
    odd = {"0": 1, "1": 0, "2": 5, "3": 7, "4": 9, "5": 13, "6": 15, "7": 17, "8": 19, "9": 21, "A": 1, "B": 0, "C": 5,
           "D": 7, "E": 9, "F": 13, "G": 15, "H": 17, "I": 19, "J": 21, "K": 2, "L": 4, "M": 18, "N": 20, "O": 11,
           "P": 3, "Q": 6, "R": 8, "S": 12, "T": 14, "U": 16, "V": 10, "W": 22, "X": 25, "Y": 24, "Z": 23}  # fmt: skip
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    total = 0
    for place, sign in enumerate(signs, start=1):
        if place % 2 == 1:
            total += odd[sign]
        else:
            total += int(sign) if sign in "0123456789" else alphabet.index(sign)
    return alphabet[total % 26]
