"""What a repository with specs has beside them: pytest's settings, a workflow, and what git leaves out."""

SETTINGS = """\
[pytest]
# What a bare `pytest` looks at: specs are YAML, tests are Python.
testpaths = specs tests
pythonpath = .
# Modules of your own, whose methods and rules a spec may name. Importing them runs their code.
axioms_import = MODULES
"""

WORKFLOW = """\
name: axioms
on: [push, pull_request]
permissions: {contents: read}
jobs:
  axioms:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.11"}
      - uses: actions/cache@v4     # models and data; a gated run measures everything anew
        with:
          path: ~/.cache/pytest-axioms
          key: axioms-${{ hashFiles('specs/**', '**/*.py') }}
          restore-keys: axioms-
      # CHANGE: where pytest-axioms comes from (an index, a wheel, a checkout), and what else your code needs.
      - run: pip install pytest-axioms
      # Fails on a check that fails, and on a number that moved further from the baseline than it may.
      - run: |
          baseline=reports/baseline.json
          pytest --axioms-require-assets $(test ! -f $baseline || echo --axioms-baseline $baseline)
      - run: cat reports/latest/summary.md >> "$GITHUB_STEP_SUMMARY"
        if: always()
      - uses: actions/upload-artifact@v4
        if: always()
        with: {name: axioms, path: reports/latest}
"""

IGNORED = """\
__pycache__/
.pytest_cache/
.hypothesis/
reports/*
!reports/baseline.json
"""
