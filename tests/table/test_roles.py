"""Roles from names in eight languages and from contents; each with a reason, and with how sure it is."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import SchemaError
from shoal.models import PersonKAnonymity
from shoal.table.column_names import LANGUAGES, WORDS, topics_of, words_of
from shoal.table.contents import contents_of
from shoal.table.profile import profile
from shoal.table.roles import TOPICS, Suggestion, suggest, unconfirmed
from tests.naive import check_digits as naive

N = 40
DRAWN = random.Random(5)


def suggested(name: str, values: list[Any]) -> Suggestion:
    column = pl.Series(name, values)
    return suggest(name, contents_of(column), len(column))


def dates(form: str = "{d:02d}.{m:02d}.{y}") -> list[str]:
    return [form.format(d=DRAWN.randint(1, 28), m=DRAWN.randint(1, 12), y=DRAWN.randint(1930, 2005)) for _ in range(N)]


def codes(make: Any) -> list[str]:
    return [make(DRAWN) for _ in range(N)]


# Names


NAMES = {
    "birth": ["date_of_birth", "Geburtsdatum", "date de naissance", "fecha_nacimiento", "DataNascita", "geboortedatum",
              "data_nascimento", "data urodzenia"],
    "sex": ["gender", "Geschlecht", "sexe", "Sexo", "sesso", "geslacht", "sexo", "płeć"],
    "age": ["age", "Alter", "âge", "edad", "età", "leeftijd", "idade", "wiek"],
    "postcode": ["zipCode", "PLZ", "code_postal", "Código Postal", "codice postale", "postcode", "codigo-postal",
                 "kod pocztowy"],
    "name": ["last_name", "Nachname", "prénom", "apellidos", "cognome", "achternaam", "sobrenome", "nazwisko"],
    "phone": ["phone", "Telefonnummer", "téléphone", "teléfono", "cellulare", "telefoonnummer", "telemóvel", "telefon"],
    "e-mail": ["e-mail", "E-Mail-Adresse", "courriel", "correo", "email", "emailadres", "email", "adres e-mail"],
    "address": ["street", "Straße", "adresse", "domicilio", "indirizzo", "straatnaam", "morada", "ulica"],
    "national number": ["SSN", "Steuer-ID", "NIR", "DNI", "codice fiscale", "BSN", "NIF", "PESEL"],
    "insurance number": ["insurance_no", "Versichertennummer", "numéro assuré", "tarjeta sanitaria",
                         "tessera sanitaria", "polisnummer", "apolice", "numer ubezpieczenia"],
    "diagnosis": ["diagnosis", "Hauptdiagnose", "diagnostic principal", "Diagnóstico", "diagnosi", "ziekte", "doença",
                  "rozpoznanie"],
    "treatment": ["medication", "Medikament", "traitement", "fármaco", "terapia", "behandeling", "tratamento",
                  "leczenie"],
    "laboratory": ["hba1c", "Kreatinin", "glycémie", "hemoglobina", "emoglobina", "labwaarde", "colesterol", "glukoza"],
    "money": ["salary", "Gehalt", "revenu", "sueldo", "stipendio", "inkomen", "rendimento", "wynagrodzenie"],
    "free text": ["notes", "Bemerkungen", "commentaire", "observaciones", "osservazioni", "opmerkingen", "observações",
                  "uwagi"],
    "admission": ["admission_date", "Aufnahmedatum", "date d'entrée", "fecha de ingreso", "data ricovero",
                  "opnamedatum", "data de internamento", "data przyjęcia"],
    "discharge": ["discharge_date", "Entlassungsdatum", "date de sortie", "fecha de alta", "data dimissione",
                  "ontslagdatum", "data de alta", "data wypisu"],
    "place": ["city", "Wohnort", "ville", "provincia", "comune", "woonplaats", "concelho", "województwo"],
    "sampling weight": ["sampling_weight", "Hochrechnungsfaktor", "pondération", "factor de expansión",
                        "peso campionario", "weegfactor", "fator de expansão", "waga próby"],
    "household number": ["hh_id", "Haushaltsnummer", "numéro du ménage", "id_hogar", "codice famiglia",
                         "huishoudnummer", "id_agregado", "numer gospodarstwa"],
    "trait": ["marital_status", "Familienstand", "état civil", "estado civil", "stato civile", "burgerlijke staat",
              "profissão", "wykształcenie"],
}  # fmt: skip
"""A name of each topic in each language, in the order of LANGUAGES."""


@pytest.mark.parametrize("language", range(len(LANGUAGES)), ids=list(LANGUAGES.values()))
@pytest.mark.parametrize("topic", NAMES)
def test_names_are_known_in_every_language(topic: str, language: int) -> None:
    known = topics_of(NAMES[topic][language])
    assert known, NAMES[topic][language]
    assert known[0].topic == topic
    assert list(LANGUAGES)[language] in known[0].languages
    assert not known[0].needs_contents


def test_every_topic_has_words_in_every_language_and_a_meaning() -> None:
    assert set(WORDS) == set(TOPICS)
    assert all(set(by_language) == set(LANGUAGES) for by_language in WORDS.values())
    assert all(entry == entry.lower() and entry.isascii() for words in WORDS.values() for entry in words.values())


@given(st.sampled_from(sorted(WORDS)), st.sampled_from(sorted(LANGUAGES)), st.data())
def test_each_word_is_found_in_any_case_and_with_any_sign_between(
    topic: str, language: str, data: st.DataObject
) -> None:
    entry = data.draw(st.sampled_from(WORDS[topic][language].split()))
    parts = entry.rstrip("?").replace("*", "").split("+")
    between = data.draw(st.sampled_from(["_", " ", "-", ".", " d'"]))
    name = data.draw(st.sampled_from([str.lower, str.upper, str.title]))(between.join(parts))
    assert topic in [known.topic for known in topics_of(name)]


def test_accents_and_case_do_not_matter() -> None:
    assert words_of("Körpergröße") == ["korpergrosse"]
    assert words_of("datumUrodzenia") == ["datum", "urodzenia", "datumurodzenia"]
    assert [known.topic for known in topics_of("KÖRPERGRÖSSE")] == ["trait"]


def test_a_word_that_means_something_else_elsewhere_needs_contents() -> None:
    assert suggested("cap", [0.25 * n for n in range(N)]).role == "unknown"
    assert suggested("cap", codes(lambda r: f"{r.randint(10000, 99999)}")).topic == "postcode"
    assert suggested("data", [0.25 * n for n in range(N)]).role == "unknown"
    assert suggested("data", dates()).role == "time?"
    assert suggested("via", list("ab") * 20).role == "unknown"


def test_the_language_is_named_in_the_reason() -> None:
    told = suggested("Geburtsdatum", dates())
    assert (told.role, told.sure) == ("quasi", "sure")
    assert told.reason == "by its name (German) a date of birth, and it holds dates"
    assert "(" not in suggested("age", list(range(N))).reason


def test_the_most_particular_meaning_wins() -> None:
    assert suggested("Geburtsname", ["a", "b"] * 20).topic == "birth name"
    assert suggested("lieu de naissance", ["a", "b"] * 20).topic == "birth place"
    assert suggested("patient_age", list(range(N))).topic == "age"
    assert suggested("patient_email", [f"p{n}@example.org" for n in range(N)]).topic == "e-mail"
    assert suggested("patient_id", [n // 2 for n in range(N)]).role == "person?"
    assert suggested("test_name", ["a", "b"] * 20).role == "sensitive"


# Contents


def german_insurance(r: random.Random) -> str:
    letter, number = r.choice("ABCXYZ"), "".join(r.choices("0123456789", k=8))
    return letter + number + naive.kvnr_digit(letter, number)


def italian(r: random.Random) -> str:
    signs = (
        "".join(r.choices("BCDFGHLMN", k=6)) + f"{r.randint(10, 99)}{r.choice('ABCDEHLMPRST')}{r.randint(10, 28)}H501"
    )
    return signs + naive.codice_fiscale_letter(signs)


def british(r: random.Random) -> str:
    while (digit := naive.nhs_digit(number := "4" + "".join(r.choices("0123456789", k=8)))) is None:
        pass
    return f"{number[:3]} {number[3:6]} {number[6:]}{digit}"


def account(r: random.Random) -> str:
    number = "".join(r.choices("0123456789", k=18))
    return f"DE{naive.iban_digits('DE', number)}{number}"


def polish(r: random.Random) -> str:
    number = f"{r.randint(20, 99)}{r.randint(1, 12):02d}{r.randint(1, 28):02d}{r.randint(1000, 9999)}"
    return number + naive.pesel_digit(number)


@pytest.mark.parametrize(
    ("make", "told"),
    [(german_insurance, "KVNR"), (italian, "codice fiscale"), (british, "NHS"), (account, "IBAN"), (polish, "PESEL")],
)
def test_numbers_with_check_digits_are_known_whatever_the_column_is_called(make: Any, told: str) -> None:
    found = suggested("x17", codes(make))
    assert (found.role, found.sure, found.is_direct) == ("dropped", "sure", True)
    assert told in found.reason
    assert suggested("patient_id", codes(make)).role == "person?"


def test_numbers_of_the_same_length_are_not_taken_for_them() -> None:
    drawn = random.Random(3)
    plain = [str(drawn.randint(10**9, 10**10 - 1)) for _ in range(200)]
    assert contents_of(pl.Series(plain)).numbers == ()
    assert contents_of(pl.Series(list(range(10**9, 10**9 + 300)))).numbers == ()


@pytest.mark.parametrize(
    ("values", "role", "holds"),
    [
        (codes(lambda r: f"p{r.randint(1, 10**6)}@example.org"), "dropped", "e-mail"),
        (codes(lambda r: f"+49 30 {r.randint(10**5, 10**7)}"), "dropped", "phone"),
        (codes(lambda r: f"{r.choice('CEIJ')}{r.randint(10, 99)}.{r.randint(0, 9)}"), "sensitive", "diagnosis"),
        (codes(lambda r: f"{r.randint(100, 999)}.{r.randint(10, 99)}"), "unknown", ""),
        (codes(lambda r: f"V{r.randint(10, 99)}.{r.randint(0, 9)}"), "sensitive", "diagnosis"),
        (codes(lambda r: f"N{r.randint(10, 99)}AB{r.randint(10, 99)}"), "sensitive", "treatment"),
        (codes(lambda r: f"5-{r.randint(100, 899)}.{r.randint(0, 9)}"), "sensitive", "treatment"),
        (codes(lambda r: f"SW{r.randint(1, 9)} {r.randint(1, 9)}AB"), "quasi", "postcode"),
        (codes(lambda r: f"{r.randint(10, 99)}-{r.randint(100, 999)}"), "quasi", "postcode"),
        (codes(lambda r: f"{r.randint(10, 9999)},50 €"), "sensitive", "money"),
        (codes(lambda r: f"{r.randint(1, 20)}.{r.randint(0, 9)} mmol/l"), "sensitive", "laboratory"),
        (codes(lambda r: f"52.{r.randint(100, 999)}, 13.{r.randint(100, 999)}"), "quasi", "coordinates"),
        (codes(lambda r: (n := str(r.randint(10, 9999))) + "-" + naive.luhn_digit(n)), "sensitive", "laboratory"),
        (dates(), "time?", "time"),
    ],
)  # fmt: skip
def test_shapes_tell_what_names_do_not(values: list[str], role: str, holds: str) -> None:
    found = suggested("x17", values)
    if holds == "" and "." in values[0]:  # numbers of three digits and decimals may be ICD-9, or anything
        assert found.sure == "unsure"
        return
    assert (found.role, found.topic) == (role, holds)
    assert found.sure in ("likely", "unsure")


def test_free_text_is_dropped_also_where_the_name_says_a_diagnosis() -> None:
    sentences = [f"The patient of bed {n} complains about pain in the left leg since Tuesday" for n in range(N)]
    assert suggested("diagnosis", sentences).topic == "free text"
    assert suggested("notes", sentences).sure == "sure"
    repeated = [
        "Acute myocardial infarction of the anterior wall",
        "Type 2 diabetes mellitus without complications",
    ] * 20
    assert suggested("diagnosis", repeated).role == "sensitive"


def test_what_does_not_look_like_its_name_is_unsure() -> None:
    found = suggested("date_of_birth", ["yes", "no"] * 20)
    assert (found.role, found.sure) == ("quasi", "unsure")
    assert "do not look like it" in found.reason
    mails = [f"p{n}@example.org" for n in range(N)]
    assert (suggested("city", mails).role, suggested("city", mails).sure) == ("dropped", "unsure")


def test_the_least_sure_stand_first() -> None:
    seen = profile(pl.DataFrame({"Geburtsdatum": dates(), "quux": list("ab") * 20, "Stadt": list("cd") * 20}))
    assert [column.sure for column in seen.by_doubt] == ["unsure", "likely", "sure"]
    assert [column.name for column in seen.columns] == ["Geburtsdatum", "quux", "Stadt"]
    assert "unsure" in repr(seen)


# What leaves only when it was confirmed

MAILS = pl.DataFrame({"age": [30, 31] * 20, "contact": [f"p{n}@example.org" for n in range(N)]})


@pytest.mark.parametrize("role", ["kept", "sensitive", "quasi"])
def test_a_direct_identifier_leaves_only_when_confirmed(role: str) -> None:
    quasi = ["age", "contact"] if role == "quasi" else ["age"]
    roles: dict[str, Any] = {"quasi": quasi, **({} if role == "quasi" else {role: ["contact"]})}
    with pytest.raises(SchemaError, match="contact") as refused:
        shoal.protect(MAILS, shoal.Schema(**roles), [PersonKAnonymity(k=2)])
    assert "confirmed=" in str(refused.value)
    assert "example.org" not in str(refused.value)
    schema = shoal.Schema(**roles, confirmed=["contact"])
    assert shoal.protect(MAILS, schema, [PersonKAnonymity(k=2)], allow_alone=True).verdict.holds
    assert unconfirmed(MAILS, ["contact"], ["contact"]) == {}


def test_a_policy_confirms_by_a_key_of_its_own() -> None:
    document = {"columns": {"quasi": ["age"], "kept": ["contact"]}, "models": {"person-k-anonymity": 2},
                "budget": {"allow_alone": True}}  # fmt: skip
    with pytest.raises(SchemaError, match="contact"):
        shoal.protect(MAILS, shoal.Policy.from_document(document))
    document["columns"]["confirmed"] = ["contact"]
    policy = shoal.Policy.from_document(document)
    assert shoal.protect(MAILS, policy).verdict.holds
    assert shoal.Policy.from_document(policy.to_document()).columns.confirmed == ("contact",)


def test_a_person_column_is_a_pseudonym_and_needs_no_word() -> None:
    schema = shoal.Schema(person="contact", quasi=["age"])
    assert shoal.protect(MAILS, schema, [PersonKAnonymity(k=2)]).verdict.holds
