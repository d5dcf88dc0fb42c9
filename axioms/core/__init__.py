"""What every layer may use: errors, registries, YAML with line numbers, progress. Imports nothing of ours."""
