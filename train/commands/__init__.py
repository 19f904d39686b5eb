"""Subcommands of `guandan` that need the learners."""
