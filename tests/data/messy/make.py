"""Makes the messy files of this folder: `python tests/data/messy/make.py`.  A test shows that they are these."""

import zipfile
from pathlib import Path

HERE = Path(__file__).parent
CRLF = "\r\n"


def lines(*rows: str, end: str = "\n") -> str:
    return "".join(row + end for row in rows)


def sheet(path: Path, rows: list[list[object]]) -> None:
    """The least that is a workbook: texts and numbers, a cell each."""

    def cell(entry: object) -> str:
        if entry is None:
            return "<c/>"
        if isinstance(entry, str):
            return f'<c t="inlineStr"><is><t xml:space="preserve">{entry}</t></is></c>'
        return f"<c><v>{entry}</v></c>"

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    data = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Tabelle1" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)


TEXTS: dict[str, bytes] = {
    "semicolons.csv": lines("ort;alter", "Köln;31", "Köln;32", "Ulm;31").encode(),
    "tabs.txt": lines("ort\talter", "Köln\t31", "Ulm\t32").encode(),
    "pipes.csv": lines("ort|alter", "Köln|31", '"Ulm"|32', "Ulm|").encode(),
    "decimal_commas.csv": lines(
        "ort;betrag", "Köln;1.234,50", "Ulm;17,5", "Ulm;17.5", "Köln; 900,00 ", "Köln;"
    ).encode(),
    "cp1252.csv": lines("größe;ort", "31;Köln", "32;Köln", "33;Zürich", "34;K\u20acln", end=CRLF).encode("cp1252"),
    "one_bad_byte.csv": b"ort,alter\nK\xc3\xb6ln,31\nK\xf6ln,32\nUlm,33\n",
    "utf16_from_excel.txt": ("\ufeff" + lines("ort\talter", "Köln\t31", "Łódź\t32", end=CRLF)).encode("utf-16-le"),
    "byte_order_mark.csv": ("\ufeff" + lines("ort,alter", "Köln,31", "Ulm,32", end=CRLF)).encode(),
    "no_header.csv": lines("Köln,31,x", "Ulm,32,y", "Ulm,33,z").encode(),
    "stray_blanks.csv": lines("ort,alter", "Köln , 31", " Köln,32 ", "\u00a0Ulm,33", "U lm,34").encode(),
    "capitals.csv": lines("ort,alter", "KÖLN,31", "köln,32", "Köln,33", "ulm,34", "ULM ,35").encode(),
    "aliases.csv": lines("ort,alter", "Cologne,31", "K,32", "Köln,33", "Neu-Ulm,34", "Paris,35", ",36").encode(),
    "line_breaks.csv": lines("notiz,ort", '"zwei\nZeilen",Köln', '"sagte ""ja""\n\n",Ulm', "kurz,Ulm").encode(),
    "stray_quote.csv": lines("notiz,ort", 'zwei" Zeilen,Köln', '"offen,Ulm', "kurz,Ulm").encode(),
    "rates.csv": lines("satz,ort", "17.5,Köln", "17.50,Köln", "18,Ulm", "17,5").encode(),
    "german_dates.csv": lines(
        "tag;ort", "3.1.2026;Köln", "31.12.2026 ;Ulm", "2026-01-03;Ulm", "30.2.2026;Ulm"
    ).encode(),
    "same_name_twice.csv": lines("ort,alter,plz,ort", "Köln,31,5,Ulm", "Ulm,32,6,Köln").encode(),
    "old_macintosh.csv": lines("ort,alter", "Köln,31", "Ulm,32", end="\r").encode(),
    "ragged.csv": lines("ort,alter,plz", "Köln,31", "Ulm,32,9,mehr,noch mehr", "", "Köln").encode(),
}
SHEETS: dict[str, list[list[object]]] = {
    "excel.xlsx": [["ort", "satz"], ["Köln ", 17.5], ["ulm", 18], ["Köln", "17.5"], [None, 18.0], [None, None]],
    "excel_no_header.xlsx": [["Köln", 31], ["Ulm", 32], ["Ulm", "32"]],
}


def make(folder: Path) -> None:
    """Write all of them."""
    for name, content in TEXTS.items():
        (folder / name).write_bytes(content)
    for name, rows in SHEETS.items():
        sheet(folder / name, rows)


if __name__ == "__main__":
    make(HERE)
