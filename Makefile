# demo and test set up everything they need in .venv, test-library in build/library; nothing else is
# installed anywhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= 2
INSTALLED := $(VENV)/installed
LIBRARY := build/library
SITE := build/site-env
PEERS := .peers
LINES ?= 750000
SEED ?= 1
KILLS ?= 50
SMK := $(BIN)/snakemake --cores $(CORES)

# Most of what is installed is never imported, so byte code is not written for all of it, but at the
# end of the installation for what the commands import. A setting that forbids this must not reach
# the commands below; with it, every later start would compile anew.
export PYTHONDONTWRITEBYTECODE :=
define IMPORT
import pkgutil, reproduction, sagevocab
import gensim.models, matplotlib.backends.backend_agg, matplotlib.backends.backend_pdf
import scipy.stats
import snakemake.cli, snakemake.script, snakemake.workflow
for package in sagevocab, reproduction:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
endef
export IMPORT

.PHONY: help environment demo test test-workflow test-code test-library test-runtimes test-report test-stages test-cluster soak bench bench-quick lint format docs site envs lock clean

help:  ## Show the targets.
	@grep -hE '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 16

environment: $(INSTALLED)  ## Install what all other targets need into .venv (2 GB).

$(INSTALLED): requirements.lock pyproject.toml
	@case "$(CURDIR)" in *" "*) echo "error: $(CURDIR): Snakemake starts no job with a Python in a folder whose name has a space; move the checkout"; exit 1;; esac
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: $(PYTHON) is older than 3.11; run make PYTHON=python3.12 (or newer)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing 2 GB of packages; this takes minutes"
	$(BIN)/python -m pip install --quiet --no-compile --use-pep517 --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@# The pipeline's package is never installed; the programs of this checkout find it here.
	@$(BIN)/python -c "import pathlib, sysconfig; pathlib.Path(sysconfig.get_path('purelib'), \
	  'pipeline-of-this-checkout.pth').write_text('$(CURDIR)/workflow\n')"
	@echo "Compiling the packages"
	@$(BIN)/python -c "$$IMPORT"
	touch $@

demo: $(INSTALLED)  ## Run the whole workflow in small, on text that comes with packages (10 minutes).
	@echo "The whole workflow in small: 10 minutes on 2 cores. Ctrl-C stops it; make demo resumes."
	@$(SMK) --scheduler greedy --quiet host --configfile config/demo.yaml -- all \
	  || { echo "error: make demo stopped; a line above that begins with error: or Error: says why. Run it again to resume."; exit 1; }
	@echo
	@echo "Done. Open results/demo/report.html in a browser."
	@echo "Figures: results/demo/figures/   tables: results/demo/tables/   claims: results/demo/claims.md"
	@echo "Tokenizers for AutoTokenizer.from_pretrained: results/demo/vocab/en/sage and its neighbours"
	@echo "One figure again: $(BIN)/snakemake --cores 2 --configfile config/demo.yaml -- figure_fertility"

test: lint  ## Check the style and run all tests (8 minutes).
	@# Side by side: what runs the workflow, and what imports its code, which two workers would do twice.
	@$(MAKE) --jobs 2 test-workflow test-code

test-workflow: $(INSTALLED)
	$(BIN)/python -m pytest tests/workflow

test-code: $(INSTALLED)
	$(BIN)/python -m pytest tests/library tests/unit tests/property tests/golden

test-library:  ## Test the library alone, installed from its wheel (minutes, downloads).
	@# Beside build/library there may be modules of an earlier build, which setuptools would pack.
	rm -rf $(LIBRARY) build/lib build/bdist.*
	$(PYTHON) -m venv $(LIBRARY)
	$(LIBRARY)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(LIBRARY)/dist .
	$(LIBRARY)/bin/python -m pip install --quiet --disable-pip-version-check \
	  "$$(echo $(LIBRARY)/dist/*.whl)[gensim,parquet,transformers]" datasets hypothesis pytest
	cp -r tests/library $(LIBRARY)/tests
	@# Without the settings of the checkout, which put its own library and pipeline on the path.
	cd $(LIBRARY) && env -u PYTHONPATH bin/python -m pytest --config-file=/dev/null --rootdir=. tests

test-runtimes: $(INSTALLED)  ## Compare ids in older versions and in JavaScript (5 minutes, downloads, needs npm).
	$(BIN)/python tests/runtimes/compare.py build/runtimes

test-report: $(INSTALLED)  ## Test the report page in Chromium, the site if it is built, and yours: make test-report REPORT=page.html
	REPORT="$(REPORT)" $(BIN)/python -m pytest tests/browser

test-stages: $(INSTALLED)  ## Test each stage with its own packages alone (minutes, downloads).
	$(BIN)/python -m pytest -m slow tests/workflow/test_stages.py

soak: $(INSTALLED)  ## Kill processes of the demo at random and compare the results (half an hour): make soak SEED=2
	$(BIN)/python tests/soak.py --seed $(SEED) --kills $(KILLS)

test-cluster: $(INSTALLED)  ## Run the demo on a SLURM of two nodes on this machine, with kills: make test-cluster CLUSTER="--seed 2"
	$(BIN)/python tests/cluster/run.py $(CLUSTER)

bench: $(INSTALLED)  ## Measure speed and memory, of other programs too (hours): make bench TEXT=corpus.txt.xz
	@test -f "$(TEXT)" || { echo "error: TEXT=$(TEXT) is no file; run make bench TEXT=corpus.txt.xz LINES=$(LINES)"; exit 1; }
	$(BIN)/python benchmarks/peers/make_environments.py $(PEERS) --only sage_tokenizer_2 \
	  || echo "Without the peer's environment the row that needs it is left out."
	$(BIN)/python benchmarks/engine.py --text "$(TEXT)" --lines $(LINES) --peers $(PEERS)

bench-quick: LINES = 20000
bench-quick: $(INSTALLED)  ## Compare SaGe with BPE and gensim (3 minutes), also on your text: make bench-quick TEXT=corpus.txt.xz
	$(BIN)/python benchmarks/engine.py $(if $(TEXT),--text "$(TEXT)") --lines $(LINES) --rows whole,whole_gensim \
	  --initial-size 5000 --vocab-size 4000

lint: $(INSTALLED)  ## Check the style; change nothing.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/snakemake --lint --configfile config/demo.yaml

format: $(INSTALLED)  ## Format all code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

docs: $(INSTALLED)  ## Write the JSON schema of the settings, and the tables of the pages from results/reference.
	$(BIN)/python -m reproduction.config > workflow/schemas/config.schema.json
	$(BIN)/python docs/render_tables.py

site: $(INSTALLED)  ## Build the documentation as a site, build/site, and check its links.
	@test -x $(SITE)/bin/mkdocs || { $(PYTHON) -m venv $(SITE) \
	  && $(SITE)/bin/python -m pip install --quiet --upgrade "pip>=25.1" \
	  && $(SITE)/bin/python -m pip install --quiet --group site; }
	$(BIN)/python docs/build_site.py build/pages
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --strict
	@echo "Open build/site/index.html"

envs: $(INSTALLED)  ## Write the conda environments of the stages, envs/, from requirements.lock.
	$(BIN)/python envs/write_environments.py

lock:  ## Renew requirements.lock from the ranges in pyproject.toml (needs uv).
	uv pip compile --quiet --universal --python-version 3.11 --extra workflow --extra dev \
	  --constraint requirements.in --no-header --no-emit-index-url --no-annotate pyproject.toml \
	  | grep -vE '^(nvidia-|cuda-|triton|torch==)' > requirements.lock
	grep '^torch==' requirements.in >> requirements.lock

clean:  ## Remove the environment; results stay.
	rm -rf $(VENV)
