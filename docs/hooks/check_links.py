"""Check that every link, picture and script of a built site leads to something in it.

    python docs/hooks/check_links.py site

Addresses of other sites are listed, not visited: a build must not depend on them.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ATTRIBUTES = ("href", "src")


class Page(HTMLParser):
    """The ids of a page, and what it leads to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember ids and links."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ATTRIBUTES and value:
                self.links.append(value)
                if tag in ("script", "img", "iframe") or (tag == "link" and ("rel", "stylesheet") in attrs):
                    self.loads.append(value)


def problems(site: Path) -> list[str]:
    """Return a sentence for every link that leads nowhere, and for everything that a page loads from elsewhere."""
    parsed = cache(Page)
    said = []
    for file in sorted(site.rglob("*.html")):
        page = parsed(file)
        said += [
            f"{file.relative_to(site)} loads {link} from elsewhere" for link in page.loads if urlsplit(link).netloc
        ]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or file.name == "404.html":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                said.append(f"{file.relative_to(site)}: {link} leads nowhere")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).ids:
                said.append(f"{file.relative_to(site)}: {link} has no such place")
    return said


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) if found else "every link leads somewhere")
    sys.exit(bool(found))
