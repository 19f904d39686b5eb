"""Competitions (RULES 9): described in a file, drawn, played, scored and shown."""
