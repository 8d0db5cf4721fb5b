"""The least that is a workbook, for tests of sheets."""

import zipfile


def workbook(path, **sheets):
    """The least that is a workbook: entries are texts, numbers, truths, or (number, 1) for a date."""

    def cell(entry):
        if isinstance(entry, bool):
            return f'<c t="b"><v>{int(entry)}</v></c>'
        if isinstance(entry, str):
            return f'<c t="inlineStr"><is><t xml:space="preserve">{entry}</t></is></c>'
        if entry is None:
            return "<c/>"
        number, style = entry if isinstance(entry, tuple) else (entry, 0)
        return f'<c s="{style}"><v>{number}</v></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    names = list(sheets)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        start = f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        book.writestr("_rels/.rels", f'<Relationships xmlns="{package}">{start}</Relationships>')
        listed = "".join(f'<sheet name="{n}" sheetId="{k}" r:id="r{k}"/>' for k, n in enumerate(names, 1))
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
        )
        links = "".join(
            f'<Relationship Id="r{k}" Type="{office}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k in range(1, len(names) + 1)
        )
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}">{links}</Relationships>')
        formats = '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
        book.writestr("xl/styles.xml", f'<styleSheet xmlns="{main}">{formats}</styleSheet>')
        for k, name in enumerate(names, 1):
            rows = "".join("<row>" + "".join(map(cell, row)) + "</row>" for row in sheets[name])
            book.writestr(
                f"xl/worksheets/sheet{k}.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
            )
    return path
