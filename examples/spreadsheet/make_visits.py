"""A spreadsheet as people keep it, invented, saved as CSV in Germany: semicolons, commas, blanks, many spellings."""

import random
from pathlib import Path

PATIENTS = 3_000


def make(path: Path, seed: int = 4) -> Path:
    """Write the visits as CSV in Windows-1252."""
    rng = random.Random(seed)
    spelt = {"Köln": ["Köln", "Köln ", "KÖLN", "Koeln", " köln"], "Bonn": ["Bonn", "bonn "], "Düren": ["Düren "]}
    lines = ["Patient;Ort;Datum;Betrag"]
    for k in range(PATIENTS):
        town = rng.choice([*spelt, "Köln"])
        for _ in range(rng.randint(1, 15)):
            day = f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.2026"
            euros, cents = divmod(int(rng.gammavariate(2, 3_000)), 100)
            thousands = f"{euros // 1000}.{euros % 1000:03d}" if euros >= 1000 else str(euros)
            lines.append(f"P{k:04d};{rng.choice(spelt[town])};{day};{thousands},{cents:02d}")
    lines += ["P0001;;01.02.2026;", ';"Köln";31.02.2026;12,50', "P0002;Aachen;03.03.2026;1.250,00"]
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252"))
    return path


if __name__ == "__main__":
    print(make(Path(__file__).with_name("visits.csv")))
