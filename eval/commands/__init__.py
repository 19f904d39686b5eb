"""Subcommands of `guandan` that play matches and compare agents."""
