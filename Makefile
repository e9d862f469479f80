# Every target makes the environment first (scripts/setup.sh; at once when it is there already).
# PYTHON=python3.12 chooses the Python that it is made with.

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q --timeout=300
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup demo fmt lint test test-unit test-spark test-ui test-slow soak check bench bench-guard clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv from the pinned versions, with a Java for Spark
	@sh scripts/setup.sh

demo: setup ## spend per customer over card payments, live, on Spark; a worker is killed on the way
	@$(BIN)/river demo

fmt: setup ## format the code and apply the safe fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix-only --exit-zero --quiet .

lint: setup ## format, rules, types and the import contracts; the page's libraries and types
	@$(BIN)/ruff format --check --quiet . || { echo "lint: run 'make fmt'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary scripts/setup_env.py
	@$(BIN)/mypy --no-error-summary scripts/ui/vendor.py
	@report=$$($(BIN)/lint-imports --no-logo) || { echo "$$report"; exit 1; }
	@$(BIN)/python scripts/ui/vendor.py --check
	@$(BIN)/node .cache/ui/node_modules/typescript/bin/tsc -p scripts/ui/tsconfig.json

test: lint test-unit test-spark test-ui bench-guard ## lint and types, every test that is not slow, the guard of the hot paths

test-unit: setup ## the tests without Spark, in parallel
	@$(PYTEST) -n 2 -m "not slow and not soak and not spark"

test-spark: setup ## the tests on a local Spark
	@$(PYTEST) -n 2 --dist loadfile -m "spark and not ui and not slow and not soak"

test-ui: setup ## the web page in a real Chromium, in front of jobs on a local Spark
	@$(BIN)/python -m tests.ui.browser
	@RIVERRUN_REQUIRE_BROWSER=1 $(PYTEST) -m "ui and not slow and not soak" tests/ui

test-slow: setup ## the long proofs
	@$(PYTEST) --timeout=3600 -m slow

soak: setup ## the all-round job under kills at random moments, in all ways; MINUTES=10
	@SOAK_MINUTES=$(or $(MINUTES),10) $(PYTEST) --timeout=36000 -m soak

check: test ## what CI runs

bench: setup ## every system on every workload, published in docs/benchmarks; QUICK=1: five minutes
	@$(BIN)/python -m benchmarks.run $(if $(QUICK),--quick,--publish)

bench-guard: setup ## whether the hot paths still cost what they did, beside a bare loop
	@RIVERRUN_PURE=1 $(BIN)/python -m benchmarks.guard
	@$(BIN)/python -m benchmarks.guard

clean: ## remove the environment and everything generated
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf build dist *.egg-info spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
