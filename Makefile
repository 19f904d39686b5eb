# make demo and make test need nothing but make and Python 3.11 or newer.

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
STAMP := $(VENV)/.installed
COMPAT ?= compat compat-rllib compat-agilerl
PYTEST := $(VENV)/bin/python -m pytest -n $(WORKERS) --benchmark-disable

.PHONY: demo test test-all test-compat lint types

demo: $(STAMP)
	$(VENV)/bin/guandan demo

test: $(STAMP)
	$(PYTEST) -m "not slow"

test-all: $(STAMP)
	$(PYTEST)

# Other people's learners, in environments of their own: their pins exclude each other.
test-compat: $(COMPAT:%=.venv-%/.installed)
	@for name in $(COMPAT); do GUANDAN_COMPAT=$$name \
	  .venv-$$name/bin/python -m pytest -rs tests/compat || exit 1; done

.venv-%/.installed: tests/compat/%.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --requirement $<
	.venv-$*/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports

types: $(STAMP)
	$(VENV)/bin/mypy

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "guandan needs Python 3.11 or newer, this is " + sys.version.split()[0] + \
	  "; name another: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[eval,train,dev]'
	@touch $@
