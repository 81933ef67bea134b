# The commands of this project; `make help` lists them.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: help run test soak lint fmt spec bench bench-import bench-admin fuzz openapi messages lock clean
.DEFAULT_GOAL := help

help: ## Show this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1 \2/p' Makefile | while read -r name text; do \
		printf '  %-12s %s\n' "$$name" "$$text"; done

run: $(VENV)/runtime ## Set up what is missing, then serve with a demo tenant on port 8000, or PORT
	@exec $(BIN)/python -m registry_project.server --demo

test: $(VENV)/development lint ## Set up what is missing, then check and test everything
	$(BIN)/pytest -n auto --dist loadgroup

soak: $(VENV)/development ## What takes longer: each page of the admin by axe-core, an import killed ten times
	$(BIN)/pytest -n auto --dist loadgroup -m soak

lint: $(VENV)/development ## Style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

fmt: $(VENV)/development ## Put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

spec: $(VENV)/development ## Which tests enforce which paragraph; SPEC='"RFC 9068" check' for some documents
	$(BIN)/python -m tests.spec $(SPEC)

bench: $(VENV)/development ## Requests per second beside a no-op view (needs wrk); BENCH=--help for options
	$(BIN)/python -m benchmarks.api $(BENCH)

bench-import: $(VENV)/development ## Imported descriptors per second beside raw COPY; BENCH=--help for options
	$(BIN)/python -m benchmarks.importing $(BENCH)

bench-admin: $(VENV)/development ## Milliseconds of each page of the admin at a million shells; BENCH=--help for options
	$(BIN)/python -m benchmarks.admin $(BENCH)

fuzz: $(VENV)/development ## Ten minutes of made-up requests against a real server; FUZZ=--help for options
	$(BIN)/python -m tests.fuzz $(FUZZ)

openapi: $(VENV)/development ## Write docs/openapi.yaml from the code
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

messages: $(VENV)/development ## Write locale/ from the texts of the admin, and compile it (needs Debian's gettext)
	$(BIN)/python manage.py makemessages --locale de --add-location file --no-obsolete --ignore tests --ignore var
	$(BIN)/python manage.py compilemessages --locale de --ignore .venv

lock: $(VENV)/development ## Write constraints.txt from what is installed
	{ echo "# Every package, pinned; written by make lock."; \
	  $(BIN)/pip freeze --local | grep -v '^-e'; } > constraints.txt

clean: ## Remove the virtual environment and caches; data under var/ stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/runtime: requirements.txt constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/development: requirements-dev.txt requirements.txt constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/runtime
