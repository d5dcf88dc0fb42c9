"""What MkDocs runs: adds the generated pages, checks every name that a page has in code font, and links it.

The reference is never typed by hand: it is read from the registries, the schemas and the parsers each time the site is
built. A page that names an axiom, a method, an option or a file that is gone fails the build.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

import bundle
import catalogue
import drawings
import notebook_pages
import options
import registries
import schemas
from mkdocs.structure.files import File, Files
from vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
LOG = logging.getLogger("mkdocs.axioms")


def on_config(config: Any) -> Any:
    """Put pages that stand in docs/ itself, and that the navigation does not place, under "How to"."""
    placed = str(config.nav)
    howto = next(section["How to"] for section in config.nav if "How to" in section)
    howto += [file.name for file in sorted((ROOT / "docs").glob("*.md")) if file.name not in placed]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files that are generated."""
    for name, text in {**generated_pages(), **notebook_pages.pages(ROOT)}.items():
        files.append(File.generated(config, name, content=text))
    for name, script in (("mathjax", bundle.MATHJAX), ("iframe-worker", bundle.IFRAME_WORKER)):
        files.append(File.generated(config, f"assets/{name}.js", content=bundle.read(script, ROOT / ".cache")))
    return files


@cache
def generated_pages() -> dict[str, str]:
    """Return the generated pages by their path in the site."""
    return {
        "reference/axioms.md": registries.axioms_page(),
        "reference/methods.md": registries.methods_page(),
        "reference/rules.md": registries.rules_page(),
        "reference/rewrites.md": registries.rewrites_page(),
        "reference/subjects.md": registries.subjects_page(),
        "reference/commands.md": options.commands_page(),
        "reference/pytest.md": options.pytest_page(),
        "reference/spec.md": schemas.spec_page(),
        "reference/record.md": schemas.record_page(),
        "reference/python.md": schemas.python_page(),
        "reference/specs.md": catalogue.specs_page(ROOT),
        "results/claims.md": catalogue.claims_page(ROOT),
        "results/counterexamples.md": catalogue.counterexamples_page(ROOT),
        "reference/spec.schema.json": schemas.spec_schema(),
        "reference/record.schema.json": schemas.record_schema(),
    }


@cache
def vocabulary() -> Vocabulary:
    """Return every name that a page may use."""
    return Vocabulary(ROOT)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Check the names on a page that somebody wrote, and link those that the reference describes."""
    name = page.file.src_uri
    if name in generated_pages() or name.endswith(".nb.md"):
        return markdown
    for problem in vocabulary().problems(markdown):
        LOG.warning("%s: %s", name, problem)  # in strict mode a warning fails the build
    return vocabulary().link(drawings.draw(markdown, ROOT), name)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Load from the site itself what the theme would load from another."""
    return output.replace(bundle.ELSEWHERE, f"{'../' * page.url.count('/')}assets/iframe-worker.js")


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """Do the same on the page for addresses that do not exist."""
    return output.replace(bundle.ELSEWHERE, "/assets/iframe-worker.js")
