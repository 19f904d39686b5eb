"""`python -m guandan_env` is the command `guandan`."""

import sys

from guandan_env.cli import main

sys.exit(main())
