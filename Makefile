# make demo        evaluate three systems and the answers of two RAG systems on the demo data, and write a report: karat-demo.html
# make test        run the tests of the library and the command line, with comparisons with other libraries
# make test-judges stop, starve and lie to judges that run as processes, with a server on this machine
# make test-downstream run the evaluation of BEIR, of MTEB and of Haystack on top of karat, in a separate environment
# make test-notebooks run the notebooks in examples/ without a network, and compare what they show
# make test-oldest run the tests with the oldest versions of all dependencies, in a separate environment
# make test-report run the tests of the report in a real browser (Debian's chromium) if there is one
# make test-sas    run the tests that need torch and sentence-transformers, in a separate environment
# make test-site   build the web site, and look at it in a real browser
# make test-spark  run the tests that need pyspark and Java, in a separate environment
# make test-statistics simulate how often confidence intervals and tests are right
# make test-typing check a program that uses karat with pyright in strict mode
# make test-wheel  build the wheel, install it in a new environment, and run the demo from there
# make lint        run ruff and mypy, and check workflows and that generated files are up to date
# make docs        run all examples in README.md and docs/, update their outputs, and redraw the pictures
# make site        build the web site of the documentation in site/
# make site-serve  build it and show it at http://127.0.0.1:8000
# make fuzz        try hostile calls and damaged files for SECONDS=60 with SEED=1; INPUTS=NUMBER tries exactly so many,
#                  REPEAT=NUMBER repeats one of them
# make bench       benchmark karat against other libraries, and Spark against one machine
# make bench-spark only the part about Spark

PYTHON ?= python3
BIN = .venv/bin
SECONDS ?= 60
SEED ?= 1

# The tests start karat hundreds of times. Without bytecode, each start would compile karat, and each run all tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-downstream test-judges test-notebooks test-oldest test-report test-sas test-site test-spark test-statistics test-typing \
  test-wheel lint docs site site-serve fuzz bench bench-spark clean

demo: .venv/installed
	@$(BIN)/karat demo
	@echo '(karat is installed in .venv: run ". .venv/bin/activate" to put it on your PATH)'

test: .venv/tested
	@$(BIN)/python tests/parity/install_peers.py
	@$(BIN)/python -m pytest -n auto --dist worksteal

test-judges: .venv/tested
	@$(BIN)/python -m pytest -n auto tests/judges

test-downstream: .venv-downstream/installed
	@HF_HUB_OFFLINE=1 .venv-downstream/bin/python -m pytest tests/downstream

test-notebooks: .venv/tested
	@$(BIN)/python -m pytest tests/notebooks

test-oldest: .venv-oldest/installed
	@.venv-oldest/bin/python -m pytest -n auto --dist worksteal tests/unit tests/end_to_end

test-report: .venv/tested-report
	@$(BIN)/python -m pytest -rs -n auto tests/report

test-sas: .venv-sas/installed
	@.venv-sas/bin/python -m pytest tests/sas

test-site: .venv/tested-site
	@$(BIN)/python -m pytest -rs -n auto --dist worksteal tests/site

test-spark: .venv-spark/installed
	@.venv-spark/bin/python -m pytest -rs tests/spark

test-statistics: .venv/tested
	@$(BIN)/python -m pytest -n auto tests/statistics

test-typing: .venv/typed
	@$(BIN)/pyright --pythonpath $(BIN)/python --project tests/typing

test-wheel: .venv/pip
	@$(BIN)/python scripts/check_wheel.py

lint: .venv/linted
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	@$(BIN)/zizmor --offline --quiet --no-progress .github action.yml
	@$(BIN)/python scripts/build_demo.py --check
	@$(BIN)/python scripts/build_generated.py --check
	@$(BIN)/python scripts/draw_hits.py --check
	@$(BIN)/python scripts/draw_answers.py --check
	@$(BIN)/python scripts/draw_grounded.py --check
	@$(BIN)/python scripts/draw_differences.py --check
	@$(BIN)/python scripts/list_prompts.py --check
	@$(BIN)/python scripts/list_findings.py --check
	@$(BIN)/python scripts/list_api.py --check

# Pictures come last: draw_answers.py reads the numbers that paste_outputs.py writes.
docs: .venv/tested-report
	@$(BIN)/python scripts/paste_outputs.py
	@$(BIN)/python scripts/run_notebooks.py
	@$(BIN)/python scripts/draw_hits.py
	@$(BIN)/python scripts/draw_answers.py
	@$(BIN)/python scripts/draw_grounded.py
	@$(BIN)/python scripts/draw_differences.py
	@$(BIN)/python scripts/draw_plots.py
	@$(BIN)/python scripts/list_prompts.py
	@$(BIN)/python scripts/list_findings.py
	@$(BIN)/python scripts/list_api.py

site: .venv/tested-site
	@$(BIN)/python scripts/build_site.py

site-serve: site
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8000

fuzz: .venv/tested-report
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) $(if $(INPUTS),--inputs $(INPUTS)) $(if $(REPEAT),--repeat $(REPEAT))

bench: .venv-bench/installed .venv-spark/installed
	@.venv-bench/bin/python benchmarks/run.py
	@.venv-spark/bin/python benchmarks/spark.py

bench-spark: .venv-spark/installed
	@.venv-spark/bin/python benchmarks/spark.py

clean:
	rm -rf .venv .venv-bench .venv-downstream .venv-oldest .venv-sas .venv-spark .peers site benchmarks/.data fuzz-failures karat-demo.html

.venv/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "karat needs Python 3.11 or newer, for example: make PYTHON=python3.12")'
	@echo "creating .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

.venv/installed: pyproject.toml | .venv/pip
	@$(BIN)/python -m pip install --quiet --editable ".[report]"
	@touch $@

.venv/tested: .venv/installed
	@echo "installing test dependencies"
	@$(BIN)/python -m pip install --quiet --group test
	@touch $@

.venv/tested-report: .venv/tested
	@echo "installing playwright and axe-core"
	@$(BIN)/python -m pip install --quiet --group test-report
	@touch $@

.venv/tested-site: .venv/tested-report
	@echo "installing Zensical"
	@$(BIN)/python -m pip install --quiet --group test-site
	@touch $@

.venv/typed: .venv/installed
	@echo "installing pyright"
	@$(BIN)/python -m pip install --quiet --group typing
	@touch $@

.venv/linted: .venv/installed
	@echo "installing ruff and mypy"
	@$(BIN)/python -m pip install --quiet --group lint --group test --group test-report --group test-site
	@touch $@

.venv-bench/installed: pyproject.toml benchmarks/install.py
	@echo "creating .venv-bench with karat and the libraries it is compared with"
	@$(PYTHON) benchmarks/install.py .venv-bench
	@touch $@

.venv-oldest/installed: pyproject.toml scripts/oldest_versions.py
	@echo "creating .venv-oldest with the oldest versions of all dependencies"
	@$(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(PYTHON) scripts/oldest_versions.py > .venv-oldest/constraints.txt
	@.venv-oldest/bin/python -m pip install --quiet --editable ".[chunks,static,ir-datasets,haystack,llm,report]" --group test \
	  --constraint .venv-oldest/constraints.txt
	@touch $@

.venv-downstream/installed: pyproject.toml
	@echo "creating .venv-downstream with BEIR, MTEB, Haystack and torch"
	@$(PYTHON) -m venv .venv-downstream
	@.venv-downstream/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-downstream/bin/python -m pip install --quiet --group torch
	@.venv-downstream/bin/python tests/parity/install_peers.py
	@.venv-downstream/bin/python -m pip install --quiet --editable . --group test-downstream
	@touch $@

# torch is installed first and on its own. As a dependency of sentence-transformers, pip would choose a build with GPU
# support, which takes several gigabytes.
.venv-sas/installed: pyproject.toml
	@echo "creating .venv-sas with torch, sentence-transformers and a model"
	@$(PYTHON) -m venv .venv-sas
	@.venv-sas/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-sas/bin/python -m pip install --quiet --group torch
	@.venv-sas/bin/python -m pip install --quiet --editable ".[sas]" --group test-sas
	@touch $@

.venv-spark/installed: pyproject.toml
	@echo "creating .venv-spark with pyspark"
	@$(PYTHON) -m venv .venv-spark
	@.venv-spark/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-spark/bin/python -m pip install --quiet --editable ".[spark,chunks]" --group test-spark
	@touch $@
