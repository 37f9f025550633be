# `make test` is what has to be green before a change goes in; `make test-full` adds the long runs.
# Both work from nothing on a fresh Debian machine as root.
VENV := .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough and can make environments; asked anew at each use, because
# `packages` may just have installed it.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
  $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  && echo $$python && break; done)

# Installs "$$@" where that can be done, else says what is missing.
INSTALL = if [ "$$(id -u)" = 0 ]; then apt-get update -q \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$$@"; \
  else echo "missing, please install: $$*" >&2; fi

.PHONY: setup python packages demo quickstart lint test test-full benchmark

setup: packages $(VENV)/.ready

python:
	@[ -n "$(PYTHON)" ] || { set -- python3 python3-venv; $(INSTALL); }

# The test servers: PostgreSQL, and Java with Maven for Kafka. Only what is missing, only as root.
packages: python
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || set -- postgresql; \
	command -v java >/dev/null || set -- "$$@" default-jre-headless; \
	command -v mvn >/dev/null || set -- "$$@" maven; \
	[ $$# = 0 ] || { $(INSTALL); }

$(VENV)/.ready: pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo 'Python 3.11 or newer with venv is needed' >&2; exit 1; }
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q -e '.[postgres]' --group dev
	touch $@

# What is lost the usual way, and what is not: no server is needed.
demo: python $(VENV)/.ready
	$(BIN)/bridge demo

# The whole path once, every command: a broker started here, a SQLite journal.
quickstart: setup
	$(BIN)/python -m examples.quickstart

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two at a time, each with servers of its own: most tests wait for servers.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile

test: lint
	$(PYTEST) -m 'not slow'

test-full: lint
	$(PYTEST)

benchmark: setup
	$(BIN)/python -m benchmarks
