# What you can ask for:  make demo | test | test-long | check | nightly | lint | bench | bench-peers | docs | reference | screenshots | studies | mutation | dist | lock | clean
# Each makes .venv by itself (with uv where it is installed, else with pip) and needs Python 3.11 or newer.
# Arguments for pytest go in ARGS:  make test ARGS="tests/models -k balance". docs/testing.md tells the tiers of tests apart.

SHELL := /bin/sh
VENV  := .venv
BIN   := $(VENV)/bin
RUNS  := $(VENV)/.runs
READY := $(VENV)/.ready
PEERS := .venv-peers
PEERS_READY := $(PEERS)/.ready
JOBS  ?= logical
ARGS  ?=
AXE   := tests/web/browser/node_modules/axe-core

PYTEST := $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 4 --dist worksteal --durations 20
# Run a second time in plain Python, where an index past the end raises instead of reading stray memory.
PLAIN  := NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=nojit $(PYTEST) $(wildcard tests/kernels tests/models tests/grouping tests/golden tests/laws)
# What make check looks at: definitions, kernels, models, policies, tables and the layout. Nothing is compiled for it.
GLANCE := tests/kernels tests/models tests/policy tests/table tests/judging tests/api tests/test_layout.py tests/test_parts.py tests/test_registry.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-compiled test-plain test-long check nightly browser java lint bench bench-peers docs reference screenshots studies mutation dist lock clean

help:
	@sed -n '1,3s/^# //p' Makefile

demo: $(RUNS)
	@$(BIN)/shoal demo
	@echo; \
	echo "Where to go next:"; \
	echo "  demo-out/steward/report.html    the report of the release that was just made; open it in a browser"; \
	echo "  docs/tutorial.md                a first release in nine steps, from a file that is as files are"; \
	echo "  $(BIN)/shoal profile FILE    a table of your own: what its columns are, and a policy to start from"; \
	echo "  make test                       all tests; installs what they need besides"

test: test-compiled test-plain

test-compiled: $(READY) browser java
	SHOAL_TIER=quick $(PYTEST) -m "not long and not data and not nightly" $(ARGS)

test-plain: $(READY)
	SHOAL_TIER=quick $(PLAIN) -m "not long and not data and not slow"

# What make test leaves out, and the long form of what it does in a quick one.
test-long: $(READY) browser java
	SHOAL_TIER=long $(PYTEST) -m "(long or data or grows or hypothesis) and not nightly" $(ARGS)
	SHOAL_TIER=long $(PLAIN) -m "(long or slow or hypothesis) and not data and not nightly"

# Before each commit: lint, types, and a glance at tests that need neither compiling nor a browser, Spark or a database.
check: lint
	SHOAL_TIER=glance NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=nojit $(PYTEST) $(GLANCE) -m "not long and not data and not slow" --durations 5

# What the tests of the web app need besides Python. Where it can neither be found nor installed they are skipped, and say so.
browser:
	@if ! command -v chromium >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "Installing Chromium, for the tests of the web app"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium || true; \
	fi
	@if [ ! -d $(AXE) ] && command -v npm >/dev/null 2>&1; then \
	    npm ci --prefix tests/web/browser --no-audit --no-fund --loglevel=error || true; \
	fi

# What the tests of the engine on Spark need besides Python. Where it can neither be found nor installed they are skipped, and say so.
java:
	@if ! command -v java >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "Installing Java, for the tests of the engine on Spark"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless || true; \
	fi

# The longest forms of the tests of bad weather, and all that is marked nightly: hours. See docs/weather.md.
nightly: $(READY) browser
	SHOAL_TIER=nightly $(PYTEST) -m nightly $(ARGS)
	$(MAKE) --no-print-directory mutation

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m pytest benchmarks --benchmark-enable -s $(ARGS)

# shoal beside other libraries, which live in an environment of their own: they pin other versions of pandas and polars.
bench-peers: $(READY) $(PEERS_READY)
	$(BIN)/python -m benchmarks.peers.compare --peers-python $(PEERS)/bin/python $(ARGS)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

# The pages of the docs that are made from the code: every command and flag, Python name and parameter.
reference: $(READY)
	$(BIN)/python -m tools.reference

# Pictures of the web app for the docs, from made-up patients; all of them are in build/screenshots.
screenshots: $(READY)
	$(BIN)/python -m tools.screenshots

# The papers' tables on public data, where the folder that SHOAL_DATA names has it; prints what is missing.
studies: $(READY)
	$(BIN)/python -m studies.joint
	$(BIN)/python -m studies.crest
	$(BIN)/python -m studies.inject
	$(BIN)/python -m studies.mrpp
	$(BIN)/python -m studies.loss
	$(BIN)/python -m studies.attacks
	$(BIN)/python -m studies.histories
	$(BIN)/python -m studies.minimality

# Small faults put into a copy of models and measuring, to see whether a test notices (docs/mutation.md).
mutation: $(READY)
	nice -n 19 $(BIN)/python -m tools.mutate --sample 300 --seed 1 $(MUTATE)

# Wheel, source archive and parts list, in dist. Fetches nothing.
dist: $(READY)
	$(BIN)/python -m tools.dist

# Newest versions that fit pyproject.toml. The only target that asks for uv.
lock:
	mkdir -p build
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
	    --custom-compile-command "make lock" --no-emit-index-url --no-emit-find-links --output-file build/whole.lock
	$(PYTHON) -m tools.lock build/whole.lock

clean:
	rm -rf $(VENV) $(PEERS) tests/web/browser/node_modules site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The first Python of at least 3.11 on the path.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)

# Two steps, each done again only when what it installs has changed: what shoal needs to run, which is all that the demo
# waits for, and what tests, docs and lint need besides. The lock is whole and names the build backend too, so that nothing
# is looked for (--no-deps) and nothing is fetched whose hash we do not know. Bytecode is made where it is first needed.
INSTALL = if command -v uv >/dev/null 2>&1; then \
	    uv pip install --python $(BIN)/python $(1); \
	else \
	    $(BIN)/python -m pip install --disable-pip-version-check --no-compile $(1); \
	fi

$(RUNS): requirements.lock pyproject.toml
	@echo "Installing into $(VENV) what shoal needs to run: about 200 MB, once. Tests need more, which make test adds."
	@set -e; \
	if command -v uv >/dev/null 2>&1; then \
	    if ! $(BIN)/python -c '' 2>/dev/null; then rm -rf $(VENV); uv venv --quiet --python '>=3.11' $(VENV); fi; \
	elif ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	    if [ -z "$(PYTHON)" ]; then \
	        echo "shoal needs Python 3.11 or newer, and none was found. Name one with: make PYTHON=/path/to/python" >&2; \
	        exit 1; \
	    fi; \
	    if ! $(PYTHON) -c 'import ensurepip' 2>/dev/null; then \
	        echo "$(PYTHON) cannot make virtual environments, since its module ensurepip is missing." >&2; \
	        echo "On Debian and Ubuntu: apt install python3-venv. Or install uv, which needs no ensurepip." >&2; \
	        exit 1; \
	    fi; \
	    rm -rf $(VENV); $(PYTHON) -m venv $(VENV); \
	fi
	@$(call INSTALL,--no-deps --require-hashes -r requirements.lock)
	@$(call INSTALL,--quiet --no-deps --no-build-isolation -e .)
	@touch $@

$(READY): $(RUNS) requirements-extras.lock requirements-dev.lock
	@echo "Installing into $(VENV) what extras, tests, docs and lint need besides: about 800 MB, once."
	@$(call INSTALL,--no-deps --require-hashes -r requirements-extras.lock -r requirements-dev.lock)
	@touch $@

$(PEERS_READY): benchmarks/peers/requirements.txt | $(READY)
	@set -e; \
	rm -rf $(PEERS); \
	echo "Installing into $(PEERS) what benchmarks/peers/requirements.txt names"; \
	if command -v uv >/dev/null 2>&1; then \
	    uv venv --quiet --python $(BIN)/python $(PEERS); \
	    uv pip install --quiet --python $(PEERS)/bin/python -r benchmarks/peers/requirements.txt; \
	else \
	    $(BIN)/python -m venv $(PEERS); \
	    $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt; \
	fi
	@touch $@
