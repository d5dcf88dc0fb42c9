"""What the terminal says of methods that the command line added: their verdicts, which no claim speaks of."""

from __future__ import annotations

import pytest

from axioms.core.printable import printable
from axioms.plugin.options import ADDED
from axioms.plugin.reporter import Reporter
from axioms.spec import MethodRef


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the verdicts of the added methods, method by axiom; the most telling one where several specs meet."""
    methods: list[MethodRef] = config.stash[ADDED]
    reporter = config.pluginmanager.get_plugin("axioms-reporter")
    if not methods or not isinstance(reporter, Reporter):
        return
    from axioms.report.tables import matrix
    from axioms.report.text import within

    labels = {method.label for method in methods}
    checks = [check for check in reporter.results.checks if check.method in labels]
    if checks:
        terminalreporter.section("axioms of the added methods")
        for line in within(max(terminalreporter._tw.fullwidth, 60), *matrix(checks)):
            terminalreporter.write_line(printable(line))
