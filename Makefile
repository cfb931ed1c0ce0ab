# Bare `make` lists the verbs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# The distribution's own comes first: lab/packages.txt installs its venv, and it is built with optimisations, which one
# built by a tool on this machine often lacks: then all takes more CPU.
RECENT = import sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do \
  $$p -c '$(RECENT)' 2>/dev/null && echo $$p && break; done)
i ?= lab
TEXT ?= /usr/share/common-licenses
export CONTAINERS_CONF := $(CURDIR)/lab/podman.conf
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Where it is set, as in many images, each start of Ansible compiles anew what it imports.
unexport PYTHONDONTWRITEBYTECODE
# With `make -j2 test` the setup would run beside tests of another run.
.NOTPARALLEL:

# What `make lab` derived where another checkout's lab held the networks.
LIVE = $(firstword $(wildcard .lab/inventories/$(i)) inventories/$(i))

# Where scripts find what they import; pytest has it from pyproject.toml.
PATHS = PYTHONPATH=collections:packaging:tests:lab

.PHONY: help lab lab-orders lab-distance lab-down lab-down-all setup archives collection test lint unit render spark
.PHONY: molecule alone survival campaign campaign-status landed quick
.PHONY: faults kills bench-unchanged bench-resources bench-tls bench-jobs
.PHONY: docs docs-site changelog site-tools definitions lock python

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: python ## a bare machine becomes a running datacenter with Spark jobs (i=<inventory>, TEXT=<file or folder>)
	@$(PYTHON) lab/up.py --inventory inventories/$(i) --text "$(TEXT)"

lab-orders: python ## the lab with a database: jobs keep the state of orders in it, compared with their events
	@$(PYTHON) lab/up.py --inventory inventories/lab_orders --compare orders

lab-distance: python ## put the datacenters of a lab ms=20 apart (round trip), until Ctrl-C (i=<inventory>)
	@$(PYTHON) lab/distance.py inventories/$(i) --round-trip $(or $(ms),20)

lab-down: python ## remove everything that make lab made (i=<inventory>)
	@$(PYTHON) lab/down.py inventories/$(i)

lab-down-all: python ## remove and list all labs of this checkout, and what lost its checkout (git clean, mv)
	@$(PYTHON) lab/down.py

setup: python ## install and build what lab and test need, start nothing
	@$(PYTHON) lab/up.py --only-prepare

archives: python ## build the Kafka, ZooKeeper and Spark archives into .build/archives
	@PYTHON=$(PYTHON) packaging/build.sh

collection: python ## the collection millrace.kafka as a file, .build/millrace-kafka-<version>.tar.gz
	@ansible-galaxy collection build --force --output-path .build .

alone: python
	@$(PYTHON) tests/checkout_lock.py

# LEAVE is of .ci/run, and only of a command line: a person's run leaves out nothing.
test: alone setup ## everything that CI runs
	@LEFT_OUT='$(if $(findstring command,$(origin LEAVE)),$(LEAVE))' tests/run.sh all

quick: ## checks and tests that your change touches, at most four minutes (BASE=origin/main: compared with)
	@BASE='$(BASE)' tests/run.sh quick

lint: ## ansible-lint, yamllint, ruff, mypy, shellcheck
	@tests/run.sh lint

unit: ## tests of the plugins, the packaging, the ledger and the model check
	@tests/run.sh unit

render: ## every inventory through the real roles, no hosts
	@tests/run.sh render

spark: ## tests of the Spark jobs, no cluster
	@tests/run.sh spark

molecule: ## molecule scenarios in containers (s=<scenario>, all without)
	@tests/run.sh molecule $(s)

survival: ## a stretched cluster in containers: what it survives, seen and compared with the table
	@tests/run.sh survival

campaign: alone setup ## what takes long: pairs, cuts, losses, benches; writes docs (PARTS="pairs cuts", SEED=<number>)
	@SEED=$(SEED) $(PATHS) python tests/campaign.py $(PARTS)

landed: ## first command in a checkout of what has landed: notes it, so that CI may leave out unchanged layers
	@$(PYTHON) tests/ci_layers.py landed

campaign-status: ## the last run of each part of the campaign; marks parts that nobody ran for long
	@$(PATHS) python tests/campaign_status.py

faults: ## the fault matrix on the live lab, each row's promise measured into docs/seen (ROWS=2,9a, i=)
	@pytest tests/faults/test_matrix.py -m campaign --inventory $(LIVE) \
	  --faults-rows "$(ROWS)" --faults-record docs/seen/faults.json

kills: ## seeded rounds of kills, freezes, power-offs and cuts on the live lab, into docs/seen (SEED=, ROUNDS=20, i=)
	@pytest -s tests/faults/test_kills.py -m campaign --inventory $(LIVE) \
	  --faults-seed $(or $(SEED),$$RANDOM) --faults-rounds $(or $(ROUNDS),20) --faults-record docs/seen/kills.json

bench-unchanged: ## CPU cost of an unchanged site.yml on the live lab, against one ping task
	@$(PATHS) python tests/bench_unchanged.py --inventory $(LIVE)

bench-resources: ## CPU cost of an unchanged run on 1,000 topics and 1,000 ACLs of the live lab, against one ping task
	@$(PATHS) python tests/bench_resources.py --inventory $(LIVE)

bench-tls: ## throughput and CPU of a secure cluster against one in the clear; writes docs/performance.md
	@$(PATHS) python tests/bench_tls.py

bench-jobs: ## CPU cost of the Spark jobs against Kafka Streams and others, 10 minutes; writes docs/performance.md
	@tests/run.sh bench-jobs

PAGES = role_docs site_docs errors layouts resources reliability disaster mirrors monitoring dashboards drawings
docs: ## write the generated pages, tables and drawings anew: roles, errors, layouts, resources, reliability
	@for page in $(PAGES); do \
	  $(PATHS) python tests/generate_$$page.py || exit 1; done

SITE_VENV = .build/venv-docs
SITE_LOCK = packaging/docs_site/requirements.txt
docs-site: site-tools ## the site of all pages and plugins, with search, in .build/docs-site
	@PYTHONPATH=packaging NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet --strict \
	  --config-file packaging/docs_site/mkdocs.yml
	@echo "$(CURDIR)/.build/docs-site/index.html: written; the search needs a web server: \
	python3 -m http.server --directory .build/docs-site"

changelog: site-tools ## add changelogs/fragments to the version in galaxy.yml, and write CHANGELOG.md
	@PATH=$(CURDIR)/$(SITE_VENV)/bin:$$PATH; antsibull-changelog lint && \
	  antsibull-changelog release --update-existing

site-tools: python
	@cmp -s $(SITE_LOCK) $(SITE_VENV)/.lock || { $(PYTHON) -m venv --clear $(SITE_VENV) && \
	  $(SITE_VENV)/bin/pip install -q --disable-pip-version-check --require-hashes -r $(SITE_LOCK) && \
	  cp $(SITE_LOCK) $(SITE_VENV)/.lock; }

definitions: ## write plugins/definitions anew from the jars of the archives
	@python packaging/definitions.py

LOCK = uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: ## resolve requirements.lock anew from pyproject.toml, requirements-control.lock from it, and that of docs-site
	@$(LOCK) pyproject.toml --extra dev -o requirements.lock
	@$(LOCK) pyproject.toml -c requirements.lock -o requirements-control.lock
	@$(LOCK) packaging/docs_site/requirements.in -o $(SITE_LOCK)

python:
	@[ -n "$(PYTHON)" ] || { \
	  echo "make: no Python 3.11 or newer with venv found (Debian: apt-get install python3 python3-venv)" >&2; exit 1; }
