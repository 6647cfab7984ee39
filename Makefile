# Every target sets itself up. Needs Python 3.11 or later, pip and make.
#
# Another interpreter, side by side:  make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
BENCH := packages/readmit-bench
# The core here, and what is built on it. They are installed from the tree, so no lock file names them.
OURS := -e . -e $(BENCH)
LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --upgrade --generate-hashes \
	--no-emit-package readmit --no-emit-index-url --no-annotate --no-header --no-config --system-certs --quiet
# A separate environment: the memory stores are heavy, and one of them needs torch.
BACKENDS := .venv-backends
# The site's generator reads the source and imports nothing of it.
DOCS := .venv-docs
TYPESCRIPT := clients/typescript
TORCH := 2.13.0
STORES := --extra check --extra mcp --extra prov --extra models --extra embed --extra mem0 --extra langgraph --extra memobase --extra amem
PYTEST_ARGS ?=
# Without bytecode every process that a test starts compiles the package again: half of the time of a command.
export PYTHONDONTWRITEBYTECODE :=
# A few processes, each with a database server of its own; a file's tests stay together, in the order of tests/conftest.py.
AT_ONCE = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# One more than cores: many tests wait for a process or a server.
WORKERS = $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
ROOMS ?=
CAMPAIGNS ?=
MINUTES ?= 10
SEED ?= 0
# The tests marked slow that ask a real model on this machine. They skip where its file cannot be fetched.
MODELS := tests/bench/test_local_model.py tests/inference/test_real_model.py tests/models/stages/test_local_model.py tests/models/test_gguf.py
# What the tests run against. The memory stores are heavy and have a target of their own.
EXTRAS := --extra check --extra embed --extra gguf --extra langgraph --extra mcp --extra models --extra postgres --extra prov --extra remote --extra server --extra telemetry

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-search test-slow test-nightly test-lives test-models test-backends test-clients test-typescript test-inspector test-memobase attack attack-full example check format docs bench bench-implicit bench-backends mutation lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Create .venv with the project and its pinned, hashed dependencies

# pip, not uv: it honors the index, proxy and certificates that a machine is configured with.
$(READY): requirements/dev.txt pyproject.toml $(BENCH)/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "readmit needs Python 3.11 or later; run: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test "$$($(BIN)/python -V 2>/dev/null)" = "$$($(PYTHON) -V)" || rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --no-index --no-deps --no-build-isolation $(OURS)
	@touch $@

demo: setup ## Play the travel case: an agent leaves, the plan changes, the agent returns
	@$(BIN)/readmit demo

# `make check` runs those of the house.
test: setup ## Run every ordinary test, those of the house apart
	$(BIN)/python -m pytest $(AT_ONCE) --ignore tests/house $(PYTEST_ARGS)

test-search: setup ## The ordinary tests on examples that no run has tried before
	HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest $(AT_ONCE) $(PYTEST_ARGS)

test-slow: setup ## Run the tests marked slow: longer searches, larger crash campaigns
	HYPOTHESIS_PROFILE=thorough$(if $(CI),-repeat) $(BIN)/python -m pytest -m slow --timeout 3600 $(AT_ONCE) \
		--ignore tests/properties/test_life.py $(MODELS:%=--ignore %) $(PYTEST_ARGS)

test-nightly: test-search ## All tests at full size, on new examples, and an hour of random lives (hours)
	READMIT_NIGHTLY=1 $(MAKE) test-slow PYTEST_ARGS="--timeout 0 -n 0 $(PYTEST_ARGS)"
	$(MAKE) test-lives MINUTES=60

test-lives: setup ## Random lives of a team against an independent model: make test-lives MINUTES=10 SEED=0
	READMIT_LIFE_SECONDS=$$(($(MINUTES) * 60)) READMIT_LIFE_SEED=$(SEED) \
		$(BIN)/python -m pytest -m slow -s tests/properties/test_life.py $(PYTEST_ARGS)

# Threads that wait by spinning would need the cores for themselves.
test-models: setup ## Run the benchmark and the stages with a real small model on this machine: plumbing, not quality
	OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -m slow --durations 5 $(MODELS) $(PYTEST_ARGS)

attack: setup ## Try to break every promise of SECURITY.md, and write there what came of it; some: make attack CAMPAIGNS="file probes"
	$(BIN)/python -m tests.attacks $(CAMPAIGNS)

attack-full: setup ## Every edit of every row of a store: more than an hour; run it each night
	READMIT_NIGHTLY=1 $(BIN)/python -m pytest -m slow -n auto --maxprocesses 4 --dist load --timeout 3600 \
		tests/attacks/test_tampering.py::test_the_same_at_every_row $(PYTEST_ARGS)

test-backends: $(BACKENDS)/.ready ## Run the conformance suite on real memory stores, in an environment of its own
	$(BACKENDS)/bin/python -m pytest tests/backends -m "not slow" $(AT_ONCE) $(PYTEST_ARGS)

# Without a network: the clients talk to a stand-in for their models.
test-clients: setup ## Drive real coding-agent clients with readmit's hooks; needs npm, node, git, ip, and root or user namespaces
	$(BIN)/python -m tests.clients.real $(PYTEST_ARGS)

test-typescript: setup ## Build the TypeScript client and test it in Node against a real server; needs npm and node
	cd $(TYPESCRIPT) && npm ci --no-fund --no-audit --loglevel error
	READMIT_TYPESCRIPT=1 $(BIN)/python -m pytest -m "not backends" tests/remote/test_typescript.py $(PYTEST_ARGS)

test-inspector: setup ## Open the inspector in Chromium, and check it with axe-core; needs npm and chromium
	npm ci --ignore-scripts --no-audit --no-fund --prefix tests/server/inspector/axe
	$(BIN)/python -m pytest -m slow tests/server/inspector $(PYTEST_ARGS)

test-memobase: $(BACKENDS)/.ready ## The same for a real Memobase server: make test-memobase URL=... KEY=...
	@test -n "$(URL)" -a -n "$(KEY)" || { echo "name the server: make test-memobase URL=http://localhost:8019 KEY=..." >&2; exit 2; }
	@READMIT_MEMOBASE_URL="$(URL)" READMIT_MEMOBASE_KEY="$(KEY)" $(BACKENDS)/bin/python -m pytest tests/backends/memobase -m "not slow" $(PYTEST_ARGS)

# A-MEM needs torch. It is installed first and by itself, so that a machine that has a CPU build at hand takes that one.
$(BACKENDS)/.ready: requirements/backends.txt pyproject.toml $(BENCH)/pyproject.toml
	$(PYTHON) -m venv $(BACKENDS)
	$(BACKENDS)/bin/python -m pip --disable-pip-version-check install --quiet torch==$(TORCH)
	$(BACKENDS)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes -r requirements/backends.txt
	$(BACKENDS)/bin/python -m pip --disable-pip-version-check install --quiet --no-index --no-deps --no-build-isolation $(OURS)
	@touch $@

example: $(BACKENDS)/.ready ## Run an example on a real memory store: make example NAME=mem0_adopt
	@$(BACKENDS)/bin/python examples/$(NAME).py

check: setup ## Lint, formatting, types, import direction, public surface, limits of the house
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docs.surface --check
	$(BIN)/python -m tests.docs.async_stub --check
	$(BIN)/python -m tests.docs.remote_stub --check
	$(BIN)/python -m pytest -q tests/house

format: setup ## Mend what ruff can mend by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: setup $(DOCS)/.ready ## Rewrite generated tables, pictures and the list of public names; build the site into site/
	$(BIN)/python -m tests.docs.async_stub
	$(BIN)/python -m tests.docs.remote_stub
	$(BIN)/python -m tests.docs.tables
	$(BIN)/python -m tests.docs.pictures
	$(DOCS)/bin/zensical build --strict

$(DOCS)/.ready: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/docs.txt
	@touch $@

bench: setup ## Measure; writes docs/performance.md and benchmarks/results.json; needs PostgreSQL's server programs
	$(BIN)/python -m benchmarks

bench-implicit: setup ## Measure implicit invalidation on ../shared/data; adds to benchmarks/results.json
	$(BIN)/python -m benchmarks implicit tokens verifier

bench-backends: $(BACKENDS)/.ready ## Measure search through a view on real memory stores
	$(BACKENDS)/bin/python -m benchmarks backends

mutation: setup ## Mutation testing of gates, duties, replacement, cover, seal and recheck (hours); ends with the survivors
	$(PIP) --require-hashes -r requirements/mutation.txt
	$(BIN)/python -m tests.mutation $(ROOMS)

lock: setup ## Pin the newest allowed dependencies, with hashes, for every platform and Python version
	$(LOCK) pyproject.toml $(BENCH)/pyproject.toml --group dev $(EXTRAS) --output-file requirements/dev.txt
	$(LOCK) pyproject.toml $(BENCH)/pyproject.toml --group dev --group mutation $(EXTRAS) --output-file requirements/mutation.txt
	echo 'torch ; python_version < "3"' > $(VENV)/without-torch.txt
	$(LOCK) pyproject.toml --group dev --group backends $(STORES) --override $(VENV)/without-torch.txt \
		--output-file requirements/backends.txt
	$(LOCK) --group docs --output-file requirements/docs.txt

clean: ## Remove everything that these targets made
	rm -rf $(VENV) $(BACKENDS) $(DOCS) $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist .clients site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .mutation dist
	find src packages tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
