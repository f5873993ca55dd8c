"""A table as a German hospital exports it: Latin-1, semicolons, decimal commas. Made up, and always the same."""

from __future__ import annotations

import random

HEADER = (
    "Patientennummer;Geschlecht;Geburtsdatum;Aufnahmedatum;Größe (cm);Gewicht (kg);Kosten;Wohnort;Diagnose;Postleitzahl"
)


def german_table(n_records: int = 20_706, seed: int = 20) -> bytes:
    """The content of the file."""
    draw = random.Random(seed)
    lines = [HEADER]
    for _ in range(n_records):
        person = draw.randint(1, max(n_records // 3, 1))
        own = random.Random(person)
        sex = own.choice("mw")
        born = f"{own.randint(1, 28):02d}.{own.randint(1, 12):02d}.{own.randint(1930, 2000)}"
        fixed = (
            own.randint(150, 199),
            own.choice(["Köln", "Düsseldorf", "Münster", "Bonn"]),
            own.randint(50000, 50999),
        )
        admitted = f"{draw.randint(1, 28):02d}.{draw.randint(1, 12):02d}.2023"
        weight = "k.A." if draw.random() < 0.03 else f"{draw.gauss(78, 12):.1f}".replace(".", ",")
        cost = f"{draw.randint(1, 9)}.{draw.randint(0, 999):03d},{draw.randint(0, 99):02d}"
        disease = draw.choice(["C50.4", "I10.0", "E11.9", "J45.0", "M54.5", "K21.9"])
        sex = sex.upper() if draw.random() < 0.2 else sex
        fields = (f"P{person:06d}", sex, born, admitted, fixed[0], weight, cost, fixed[1], disease, fixed[2])
        lines.append(";".join(map(str, fields)))
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")
