"""What a run shows, from its record alone: the page, summary.md, the papers' tables and figures, the baseline."""
