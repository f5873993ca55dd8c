# What you can ask for:  make demo | test | nightly | lint | bench | bench-peers | docs | reference | screenshots | studies | mutation | dist | lock | clean
# Each makes .venv by itself (with uv where it is installed, else with pip) and needs Python 3.11 or newer.
# Arguments for pytest go in ARGS:  make test ARGS="tests/models -k balance"

SHELL := /bin/sh
VENV  := .venv
BIN   := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := .venv-peers
PEERS_READY := $(PEERS)/.ready
JOBS  ?= logical
ARGS  ?=
AXE   := tests/web/browser/node_modules/axe-core

PYTEST := $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 4 --dist worksteal --durations 20
# Run a second time in plain Python, where an index past the end raises instead of reading stray memory.
PLAIN  := $(wildcard tests/kernels tests/models tests/grouping tests/golden tests/laws)

.DEFAULT_GOAL := help
.PHONY: help demo test test-compiled test-plain nightly browser java lint bench bench-peers docs reference screenshots studies mutation dist lock clean

help:
	@sed -n '1,3s/^# //p' Makefile

demo: $(READY)
	$(BIN)/shoal demo

test: test-compiled test-plain

test-compiled: $(READY) browser java
	$(PYTEST) $(ARGS)

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

test-plain: $(READY)
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=nojit $(PYTEST) -m "not data and not slow" $(PLAIN)

# The long forms of the tests of bad weather, and all that is marked nightly: hours. See docs/weather.md.
nightly: $(READY) browser
	SHOAL_NIGHTLY=1 SHOAL_FUZZ_CASES=$${SHOAL_FUZZ_CASES:-100000} $(PYTEST) -m nightly $(ARGS)
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
	$(BIN)/mkdocs build --strict --clean

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
	$(BIN)/python -m studies.minimality

# Small faults put into a copy of models and measuring, to see whether a test notices (docs/mutation.md).
mutation: $(READY)
	nice -n 19 $(BIN)/python -m tools.mutate --sample 300 --seed 1 $(MUTATE)

# Wheel, source archive and parts list, in dist. Fetches nothing.
dist: $(READY)
	$(BIN)/python -m tools.dist

# Newest versions that fit pyproject.toml. The only target that asks for uv.
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
	    --custom-compile-command "make lock" --no-emit-index-url --no-emit-find-links --output-file requirements.lock

clean:
	rm -rf $(VENV) $(PEERS) tests/web/browser/node_modules site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The first Python of at least 3.11 on the path.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)

# Installed again only when what is to be installed has changed. The build backend is in the lock too, so that
# nothing is fetched whose hash we do not know.
$(READY): requirements.lock pyproject.toml
	@set -e; \
	if command -v uv >/dev/null 2>&1; then \
	    if ! $(BIN)/python -c '' 2>/dev/null; then rm -rf $(VENV); uv venv --quiet --python '>=3.11' $(VENV); fi; \
	    install="uv pip install --quiet --python $(BIN)/python"; \
	else \
	    if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
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
	    fi; \
	    install="$(BIN)/python -m pip install --quiet --disable-pip-version-check"; \
	fi; \
	echo "Installing into $(VENV) what requirements.lock names"; \
	$$install --require-hashes -r requirements.lock; \
	$$install --no-build-isolation --no-deps -e .
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
