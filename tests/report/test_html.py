"""index.html without a browser: it is one file, escapes what it shows, and reads well in light and dark."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from axioms.commands.main import main
from axioms.record import CheckRecord
from axioms.report import html
from axioms.report.html import unpack
from axioms.report.page.outcomes import KINDS
from axioms.report.page.verdicts import VERDICTS
from axioms.report.write import write_report
from tests.records import make_check, make_run, save_run

STYLE = (Path(html.__file__).parent / "templates" / "style.css").read_text()


class Reader(HTMLParser):
    """Gathers what a test asks for."""

    VOID = ("meta", "link", "img", "input", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.pictures: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [str(given[name]) for name in ("href", "src") if name in given]
        self.pictures += [given] if tag == "img" else []
        self.open += [] if tag in self.VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        """What is closed must have been opened last."""
        assert self.open.pop() == tag


@pytest.fixture
def written(tmp_path: Path, varied: list[CheckRecord]) -> tuple[str, Reader]:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.yaml").write_text("claim: one\n# two\naxiom: <three>\n")
    page = write_report(make_run(*varied, status="failed"), tmp_path / "out", tmp_path).page.read_text()
    return page, read(page)


def read(page: str) -> Reader:
    """Read a page with everything that is packed into it."""
    reader = Reader()
    reader.feed(page)
    for piece in unpack(page)["pieces"].values():
        reader.feed(piece)
    assert reader.open == []
    return reader


def test_one_file_that_asks_for_nothing(written: tuple[str, Reader]) -> None:
    _, reader = written
    assert all(link.startswith(("#", "data:")) for link in reader.links)


def test_every_link_leads_somewhere_and_every_id_is_its_own(written: tuple[str, Reader]) -> None:
    _, reader = written
    assert len(set(reader.ids)) == len(reader.ids)
    inside = {link[1:] for link in reader.links if link.startswith("#")}
    assert inside <= set(reader.ids)
    assert "specs-a-yaml-L3" in inside


def test_every_picture_says_what_it_shows(written: tuple[str, Reader]) -> None:
    _, reader = written
    said = [str(picture["alt"]) for picture in reader.pictures]
    assert len(said) == 2
    assert "After half of them, most relevant first: attnlrp 0.40." in said[0]
    assert "An image, its relevance by attnlrp" in said[1]


def test_what_is_shown_is_escaped(written: tuple[str, Reader]) -> None:
    page, _ = written
    folded = "".join(unpack(page)["pieces"].values())
    assert "<rules>" not in page + folded
    assert "Rules &amp; &lt;rules&gt;" in page
    assert "axiom: &lt;three&gt;" in folded


def test_the_numbers_are_in_the_page_too(written: tuple[str, Reader], varied: list[CheckRecord]) -> None:
    page, _ = written
    run = unpack(page)["run"]
    assert [check["metrics"] for check in run["checks"]] == [
        json.loads(check.model_dump_json())["metrics"] for check in varied
    ]
    assert run["checks"][8]["id"] == varied[8].id


def test_the_page_of_a_saved_run_is_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_run(make_run(make_check()), tmp_path)
    assert main(["report", str(tmp_path), "--format", "html"]) == 0
    assert capsys.readouterr().out.strip().endswith("index.html")
    assert "The one check passes." in (tmp_path / "index.html").read_text()


def palette(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's ratio; AA asks for 4.5."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_to_read(scheme: str) -> None:
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")[:2]
    colours = palette(light) | (palette(dark.partition("}\n}")[0]) if scheme == "dark" else {})
    kinds = [*KINDS, *VERDICTS]
    pairs = [(ink, paper) for ink in ("text", "soft", "link") for paper in ("page", "card")]
    pairs += [*((kind, f"{kind}-back") for kind in kinds), ("text", "target"), ("soft", "target")]
    assert {pair: round(contrast(*(colours[name] for name in pair)), 1) for pair in pairs} == {
        pair: pytest.approx(99, abs=94.5) for pair in pairs
    }
    for strongest in ((214, 39, 40), (31, 119, 180)):
        page = [int(colours["page"][at : at + 2], 16) for at in (1, 3, 5)]
        mixed = [round(0.75 * ink + 0.25 * paper) for ink, paper in zip(strongest, page, strict=True)]
        assert contrast(colours["text"], "#" + "".join(f"{part:02x}" for part in mixed)) >= 4.5
