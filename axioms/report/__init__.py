"""Results of a run: results.json, tables, summary."""
