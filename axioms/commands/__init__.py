"""The `axioms` command: one file or folder for each subcommand."""
