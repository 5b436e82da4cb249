"""Writes the documents of content/ that are hard to read: columns, a long table, Cyrillic in a PDF and in windows-1251.

    python -m venv venv && venv/bin/pip install fpdf2==2.8.9 fonttools==4.68.0 pyphen==0.18.1
    venv/bin/python samples.py ../../content /usr/share/fonts/truetype/dejavu

The second argument is the folder of the DejaVu fonts, of which the Russian file embeds the letters that it needs. They
are free to embed: copyright 2003 Bitstream, Inc. (Bitstream Vera licence); DejaVu's changes are in the public domain.
The same versions give the same bytes. modems.ru.txt is written in windows-1251, as such notes were in its days.
"""

import datetime
import pathlib
import re
import sys

import fpdf
import pyphen

DATE = datetime.datetime(2025, 2, 20, 9, 0, tzinfo=datetime.timezone.utc)
HYPHENS = pyphen.Pyphen(lang="en_GB")


class Sample(fpdf.FPDF):
    """A PDF with a running header and footer and the same bytes every time."""

    def __init__(self, title, header, footer, page):
        super().__init__(format="A4")
        self.head, self.foot, self.page_word = header, footer, page
        self.face = "helvetica"
        self.set_title(title)
        self.set_creation_date(DATE)
        self.set_producer("larder samples")
        self.set_margins(20, 26, 20)
        self.set_auto_page_break(True, margin=24)

    def file_id(self):  # otherwise made of a clock
        return "<00112233445566778899AABBCCDDEEFF><00112233445566778899AABBCCDDEEFF>"

    def header(self):
        self.set_font(self.face, size=8)
        self.set_y(12)
        self.cell(0, 5, self.head, border="B", align="L")
        self.set_y(26)

    def footer(self):
        self.set_font(self.face, size=8)
        self.set_y(-15)
        self.cell(0, 5, self.foot, align="L")
        self.set_y(-15)
        self.cell(0, 5, self.page_word.format(self.page_no()), align="R")


def hyphenated(text):
    """Puts soft hyphens where long words may be divided; one that ends a line is drawn as a hyphen."""
    return re.sub(r"[a-z]{7,}", lambda m: HYPHENS.inserted(m.group(), "\u00ad"), text)


def columns(pdf, parts):
    """Writes headings (lines that begin with #) and paragraphs in two justified columns."""
    with pdf.text_columns(ncols=2, gutter=9, text_align="J", line_height=1.25) as text:
        for part in parts:
            if part.startswith("# "):
                pdf.set_font(pdf.face, "B", 11)
                with text.paragraph(top_margin=3, bottom_margin=1.2, text_align="L") as p:
                    p.write(part[2:])
            else:
                pdf.set_font(pdf.face, "", 9.5)
                with text.paragraph(bottom_margin=1.6) as p:
                    p.write(hyphenated(" ".join(part.split())))


def delivery_guide(path):
    pdf = Sample("Delivery and assembly guide", "Brindle & Rook | Delivery and assembly guide DA-3",
                 "brindleandrook.example/delivery", "Page {}")
    pdf.add_page()
    pdf.set_font(pdf.face, "B", 18)
    pdf.cell(0, 12, "Delivery and assembly guide", new_x="LMARGIN", new_y="NEXT")
    columns(pdf, read("delivery-guide.txt"))
    pdf.output(path)


def delivery_charges(path):
    pdf = Sample("Delivery charges", "Brindle & Rook | Delivery charges DC-11 | valid from 20 February 2025",
                 "All prices in pounds, VAT included", "Sheet {}")
    pdf.add_page()
    pdf.set_font(pdf.face, "B", 18)
    pdf.cell(0, 12, "Delivery charges", new_x="LMARGIN", new_y="NEXT")
    parts = read("delivery-charges.txt")
    rows = [line.split("\t") for line in parts[1].split("\n")]
    pdf.set_font(pdf.face, size=9.5)
    pdf.multi_cell(0, 5, " ".join(parts[0].split()), new_x="LMARGIN", new_y="NEXT")
    pdf.ln(3)
    with pdf.table(col_widths=(17, 46, 20, 20, 27, 40), line_height=6.2, text_align=("L", "L", "R", "R", "R", "L")) as table:
        for row in rows:
            table.row(row)
    pdf.ln(4)
    for part in parts[2:]:
        pdf.multi_cell(0, 5, " ".join(part.split()), new_x="LMARGIN", new_y="NEXT")
        pdf.ln(2)
    pdf.output(path)


def storage(path, fonts):
    pdf = Sample("Твердотельные накопители", "Заметки о технике: твердотельные накопители", "Выпуск 14", "Страница {}")
    pdf.add_font("DejaVu", "", fonts / "DejaVuSans.ttf")
    pdf.add_font("DejaVu", "B", fonts / "DejaVuSans-Bold.ttf")
    pdf.face = "DejaVu"
    pdf.set_lang("ru")
    pdf.add_page()
    pdf.set_font(pdf.face, "B", 18)
    pdf.cell(0, 12, "Твердотельные накопители", new_x="LMARGIN", new_y="NEXT")
    for part in read("solid-state.ru.txt"):
        if part.startswith("# "):
            pdf.ln(2)
            pdf.set_font(pdf.face, "B", 12)
            pdf.multi_cell(0, 7, part[2:], new_x="LMARGIN", new_y="NEXT")
            continue
        pdf.set_font(pdf.face, "", 10.5)
        if "\t" in part:
            with pdf.table(line_height=7) as table:
                for line in part.split("\n"):
                    table.row(line.split("\t"))
            pdf.ln(2)
            continue
        pdf.multi_cell(0, 5.6, " ".join(part.split()), align="L", new_x="LMARGIN", new_y="NEXT")
        pdf.ln(2)
    pdf.output(path)


def read(name):
    """The parts of a source text, which blank lines divide."""
    text = (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8")
    return [part for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip()]


def main():
    content, fonts = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    delivery_guide(content / "refunds" / "delivery-guide.pdf")
    delivery_charges(content / "refunds" / "delivery-charges.pdf")
    storage(content / "topics" / "tech" / "hardware" / "solid-state.ru.pdf", fonts)
    modems = (pathlib.Path(__file__).parent / "modems.ru.txt").read_text(encoding="utf-8")
    (content / "topics" / "tech" / "networks" / "modems.ru.txt").write_bytes(modems.replace("\n", "\r\n").encode("cp1251"))


if __name__ == "__main__":
    main()
