"""One text explained by several methods: in the terminal, and as a page."""
