# make demo    evaluate three systems on the data set that comes with karat
# make test    every test, against the real peers
# make test-sas    the tests that need torch and sentence-transformers, in an environment of their own
# make lint    ruff and mypy
# make bench   karat and its peers, side by side

PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test test-sas lint bench clean

demo: .venv/installed
	@$(BIN)/karat demo
	@echo '(karat is in .venv: . .venv/bin/activate puts it on your path)'

test: .venv/tested
	@$(BIN)/python tests/parity/install_peers.py
	@$(BIN)/python -m pytest -n auto

test-sas: .venv-sas/installed
	@.venv-sas/bin/python -m pytest tests/sas

lint: .venv/linted
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python scripts/build_demo.py --check
	@$(BIN)/python scripts/draw_hits.py --check
	@$(BIN)/python scripts/draw_answers.py --check
	@$(BIN)/python scripts/draw_differences.py --check

bench: .venv-bench/installed
	@.venv-bench/bin/python benchmarks/run.py

clean:
	rm -rf .venv .venv-bench .venv-sas .peers benchmarks/.data

.venv/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "karat needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo "setting up .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

.venv/installed: pyproject.toml | .venv/pip
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/tested: .venv/installed
	@echo "installing what the tests need"
	@$(BIN)/python -m pip install --quiet --group test
	@touch $@

.venv/linted: .venv/installed
	@echo "installing ruff and mypy"
	@$(BIN)/python -m pip install --quiet --group lint --group test
	@touch $@

.venv-bench/installed: pyproject.toml benchmarks/install.py
	@echo "setting up .venv-bench with karat and its peers"
	@$(PYTHON) benchmarks/install.py .venv-bench
	@touch $@

# torch first, and by itself: what needs it would bring a build for graphics cards along, of several gigabytes.
.venv-sas/installed: pyproject.toml
	@echo "setting up .venv-sas with torch, sentence-transformers and a model"
	@$(PYTHON) -m venv .venv-sas
	@.venv-sas/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-sas/bin/python -m pip install --quiet --group torch
	@.venv-sas/bin/python -m pip install --quiet --editable ".[sas]" --group test-sas
	@touch $@
