"""Identifiers that the safe harbour of HIPAA names (45 CFR 164.514(b)(2)): which columns seem to hold them.

Found by the names of columns, in eight languages, and by what their values look like, as roles are
(`shoal.table.roles`). A column that is not named here may hold one all the same: no list of words is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from shoal.table.column_names import names_a, words_of
from shoal.table.contents import Contents, contents_of
from shoal.table.roles import RECORDS_LOOKED_AT, suggest

if TYPE_CHECKING:
    from shoal.table.schema import Schema

IDENTIFIERS = (
    "names", "places smaller than a state", "dates and ages over 89", "phone numbers", "fax numbers",
    "e-mail addresses", "social security numbers", "medical record numbers", "health plan numbers", "account numbers",
    "certificate and license numbers", "vehicle numbers", "device numbers", "web addresses", "IP addresses",
    "biometric identifiers", "photographs of faces", "any other unique number",
)  # fmt: skip
"""The eighteen, in the order of the rule; they are numbered from 1."""

BY_WORDS = {
    5: "fax telefax faxnummer faxnumber",
    8: "mrn medical+record medicalrecord chart+number patient+id patientid patient+number patnr patid krankenakte "
    "patientennummer patientnummer dossier+medical historia+clinica cartella+clinica processo+clinico",
    12: "vehicle vin license+plate licenceplate licenseplate number+plate kennzeichen+kfz kfzkennzeichen fahrgestell* "
    "immatriculation matricula+vehiculo targa kenteken matricula+veiculo rejestracyjny",
    11: "license licence driving+licence driverslicense certificate+number passport fuehrerschein* reisepass* "
    "personalausweis* permis+conduire passeport carnet+conducir pasaporte patente? passaporto rijbewijs* paspoort* "
    "prawo+jazdy paszport*",
    13: "device+id deviceid device+serial serial+number serialnumber implant+id udi imei mac+address macaddress "
    "geraetenummer seriennummer",
    14: "url website homepage webpage web+address",
    15: "ip ipaddress ip+address ipv4 ipv6",
    16: "fingerprint voiceprint biometric* retina iris+scan faceprint dna genome fingerabdruck empreinte+digitale "
    "huella+dactilar impronta+digitale vingerafdruk* odcisk",
    17: "photo photograph photos face+image portrait picture lichtbild passbild passfoto fotografie* photographie "
    "fotografia foto",
}
"""What names of columns say of identifiers that roles do not tell apart."""
BY_TOPIC = {
    "name": 1, "birth name": 1, "third person": 1, "postcode": 2, "coordinates": 2, "address": 2, "place": 2,
    "birth place": 2, "birth": 3, "death": 3, "admission": 3, "discharge": 3, "time": 3, "phone": 4, "e-mail": 6,
    "national number": 7, "insurance number": 9, "account": 10, "online name": 14, "person": 18, "number": 18,
    "record": 18, "household number": 18,
}  # fmt: skip
"""The identifier that each topic of `roles.TOPICS` is."""
STATE_WORDS = "state country region bundesland staat land? etat pays estado pais stato paese kraj"
"""Places that are as large as a state."""
OLDEST = 89.0


@dataclass(frozen=True)
class Identifier:
    """A column that seems to hold an identifier of the safe harbour."""

    column: str
    number: int
    """Which of the eighteen, from 1."""
    identifier: str
    because: str
    role: str | None = None
    """The role of the column, where one was given."""
    leaves: str | None = None
    """How it would leave by its role: "not", "masked", "as a pseudonym", "as a sequence", "moved", or "as it is"."""


LEAVES = {"quasi": "masked", "person": "as a pseudonym", "sensitive": "as it is", "kept": "as it is"}
"""How columns leave by their roles; others, but times, do not."""


def safe_harbour(frame: pl.DataFrame, schema: Schema | None = None) -> tuple[Identifier, ...]:
    """The columns of a table that seem to hold identifiers of the safe harbour, in the order of the table.

    Looks at the first records, RECORDS_LOOKED_AT at the most. No value is told.
    """
    some = frame.head(RECORDS_LOOKED_AT)
    return identifiers_among({name: contents_of(some[name]) for name in frame.columns}, len(some), schema)


def identifiers_among(
    contents: Mapping[str, Contents], n_records: int, schema: Schema | None = None
) -> tuple[Identifier, ...]:
    """The same, of columns whose contents were looked at already."""
    roles = dict(schema.roles()) if schema is not None else {}
    found = []
    for name, own in contents.items():
        known = _identifier(name, own, n_records)
        if known is None:
            continue
        number, because = known
        role = roles.get(name)
        leaves = None if schema is None else LEAVES.get(role or "", "not")
        if schema is not None and role == "time":
            leaves = "as a sequence" if schema.time_as == "sequence" else "moved"
        found.append(Identifier(name, number, IDENTIFIERS[number - 1], because, role, leaves))
    return tuple(found)


def _identifier(name: str, contents: Contents, n_records: int) -> tuple[int, str] | None:
    """Which identifier a column seems to be, and why; None where it seems to be none."""
    words = words_of(name)
    suggestion = suggest(name, contents, n_records)
    by_words = next((number for number, entries in BY_WORDS.items() if names_a(words, entries)), None)
    number = BY_TOPIC.get(suggestion.topic)
    if by_words is not None and (not suggestion.by_contents or number in (4, 14)):  # a fax is a phone by its looks
        return by_words, f"by its name {IDENTIFIERS[by_words - 1]}"
    topic = suggestion.topic
    if topic == "place" and names_a(words, STATE_WORDS):
        return None
    if topic == "age":
        is_old = contents.high is not None and contents.high > OLDEST
        return (3, "by its name an age, and somebody is over 89") if is_old else None
    if number == 3 and not contents.is_time:
        return None  # years may leave
    return None if number is None else (number, suggestion.reason)
