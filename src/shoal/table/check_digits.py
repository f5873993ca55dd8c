"""Numbers of persons and accounts that hold a check digit: who gives them out, how they look, and whether one is right.

A column whose values all pass such a check holds these numbers, whatever it is called: by chance one value in ten does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
ODD_PLACES = {
    **dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)),
    **dict(zip("ABCDEFGHIJ", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)),
    **dict(zip("KLMNOPQRSTUVWXYZ", (2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23), strict=True)),
}
"""What a sign counts at the odd places of an Italian codice fiscale."""


def luhn(digits: str) -> bool:
    """Every second digit from the right counts twice, with its digits added; the sum is divisible by ten."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def iban(text: str) -> bool:
    """ISO 13616: the first four signs moved to the end, letters as 10 to 35; the remainder by 97 is 1."""
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def kvnr(text: str) -> bool:
    """German health insurance: the letter as 01 to 26, weights 1 and 2 in turn, with the digits of products added."""
    digits = f"{ord(text[0]) - ord('A') + 1:02d}{text[1:9]}"
    total = sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(digits))
    return total % 10 == int(text[9])


def steuer_id(text: str) -> bool:
    """German tax number: ISO 7064 mod 11, 10; one digit of the first ten stands twice or three times, no other does."""
    counts = sorted(text[:10].count(digit) for digit in set(text[:10]))
    if text[0] == "0" or counts[-1] not in (2, 3) or counts[-2:-1] not in ([], [1]):
        return False
    carried = 10
    for digit in text[:10]:
        carried = ((int(digit) + carried) % 10 or 10) * 2 % 11
    return (11 - carried) % 10 == int(text[10])


def nir(text: str) -> bool:
    """French social security: the key is 97 minus the remainder by 97; Corsica's 2A and 2B count as 19 and 18."""
    number = text[:13].replace("2A", "19").replace("2B", "18")
    return number.isdigit() and 97 - int(number) % 97 == int(text[13:])


def dni(text: str) -> bool:
    """Spanish DNI and NIE: the letter is that of the remainder by 23; X, Y and Z in front count as 0, 1 and 2."""
    number = text[:-1].translate(str.maketrans("XYZ", "012"))
    return DNI_LETTERS[int(number) % 23] == text[-1]


def codice_fiscale(text: str) -> bool:
    """Italian tax code: signs at odd places by a table, at even ones by value; the remainder by 26 is the letter."""
    odd = sum(ODD_PLACES[sign] for sign in text[:15:2])
    even = sum(int(sign) if sign.isdigit() else ord(sign) - ord("A") for sign in text[1:15:2])
    return chr((odd + even) % 26 + ord("A")) == text[15]


def bsn(text: str) -> bool:
    """Dutch citizen service number: weights 9 to 2 and -1; the sum is divisible by 11."""
    return int(text) > 0 and _weighed(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def nif(text: str) -> bool:
    """Portuguese tax number: weights 9 to 2; 11 minus the remainder, and 0 where that is above 9."""
    check = 11 - _weighed(text[:8], range(9, 1, -1)) % 11
    return (check if check < 10 else 0) == int(text[8])


def pesel(text: str) -> bool:
    """Polish PESEL: weights 1, 3, 7, 9; a month with its century, a day of a month."""
    is_day = 1 <= int(text[2:4]) % 20 <= 12 and 1 <= int(text[4:6]) <= 31
    return is_day and _weighed(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def nhs(text: str) -> bool:
    """British NHS number: weights 10 to 2; 11 minus the remainder, 0 for 11, and none is given out for 10."""
    check = 11 - _weighed(text[:9], range(10, 1, -1)) % 11
    return (0 if check == 11 else check) == int(text[9])


def loinc(text: str) -> bool:
    """LOINC: the digit behind the dash makes the number pass Luhn's check."""
    return luhn(text.replace("-", ""))


def _weighed(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


@dataclass(frozen=True)
class Checked:
    """A numbering with a check digit: what it is called, how it looks without blanks and dashes, and its check."""

    told: str
    shape: str
    is_right: Callable[[str], bool] = field(repr=False)

    def fits(self, text: str) -> bool:
        """Whether a text is such a number: written in groups or not, and with the right check digit."""
        plain = tidy(text)
        return re.fullmatch(self.shape, plain) is not None and self.is_right(plain)


def tidy(text: str) -> str:
    """A number without the blanks, dashes, dots and slashes that part its groups, in capital letters."""
    return re.sub(r"[\s./-]", "", text).upper()


PERSON_NUMBERS = (
    Checked("a German health insurance number (KVNR)", r"[A-Z]\d{9}", kvnr),
    Checked("a German tax number (Steuer-ID)", r"\d{11}", steuer_id),
    Checked("a French social security number (NIR)", r"[1-478]\d{4}(\d\d|2A|2B)\d{8}", nir),
    Checked("a Spanish identity number (DNI, NIE)", r"[\dXYZ]\d{7}[A-Z]", dni),
    Checked(
        "an Italian tax code (codice fiscale)",
        r"[A-Z]{6}[\dL-NP-V]{2}[ABCDEHLMPRST][\dL-NP-V]{2}[A-Z][\dL-NP-V]{3}[A-Z]",
        codice_fiscale,
    ),
    Checked("a Dutch citizen service number (BSN)", r"\d{9}", bsn),
    Checked("a Portuguese tax number (NIF)", r"[1235689]\d{8}", nif),
    Checked("a Polish PESEL", r"\d{11}", pesel),
    Checked("a British NHS number", r"\d{10}", nhs),
)
"""Numbers that are one person's own."""

ACCOUNT_NUMBERS = (
    Checked("an account number (IBAN)", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", iban),
    Checked("a card number", r"[2-6]\d{12,18}", luhn),
)
"""Numbers of accounts and cards, which name their owner."""
