"""The subcommands of `guandan` that need nothing beyond guandan_env, one module each."""
