# Bare `make` lists the verbs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
i ?= lab
TEXT ?= /usr/share/common-licenses
export CONTAINERS_CONF := $(CURDIR)/lab/containers.conf
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help lab lab-down lab-down-all setup archives test lint unit render spark molecule survival campaign bench-unchanged bench-tls docs definitions lock

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: python ## a bare machine becomes a running datacenter with Spark jobs (i=<inventory>, TEXT=<file or folder>)
	@$(PYTHON) lab/up.py --inventory inventories/$(i) --text $(TEXT)

lab-down: ## remove everything that make lab made (i=<inventory>)
	@[ ! -x .venv/bin/ansible-playbook ] || for hosts in $$(find inventories/$(i) -name hosts.yml); do ansible-playbook -i $${hosts%/hosts.yml} lab/destroy.yml || exit; done

lab-down-all: python ## remove all labs of this checkout, and what lost its checkout (git clean): found by label, and listed
	@$(PYTHON) lab/down.py

setup: python ## install and build what lab and test need, start nothing
	@$(PYTHON) lab/up.py --only-prepare

archives: python ## build the Kafka, ZooKeeper and Spark archives into .build/archives
	@PYTHON=$(PYTHON) packaging/build.sh

test: setup ## everything that CI runs
	@tests/run.sh all

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

survival: ## two stretched clusters in containers: what they survive, seen and compared with the table
	@tests/run.sh survival

campaign: setup ## what takes long: every pair of servers, cuts, losses, benches; writes docs (PARTS="pairs cuts ...", all without; SEED=<number> repeats)
	@SEED=$(SEED) PYTHONPATH=plugins/module_utils:tests python tests/campaign.py $(PARTS)

bench-unchanged: ## CPU cost of an unchanged site.yml on the live lab, against one ping task
	@PYTHONPATH=plugins/module_utils:tests python tests/bench_unchanged.py --inventory inventories/$(i)

bench-tls: ## throughput and CPU of a secure cluster against one in the clear; writes docs/performance.md
	@PYTHONPATH=plugins/module_utils:tests python tests/bench_tls.py

docs: ## write the generated pages and tables anew: roles, errors, layouts, security
	@for page in role_docs site_docs errors layouts security; do PYTHONPATH=plugins/module_utils:tests python tests/generate_$$page.py || exit 1; done

definitions: ## write plugins/definitions anew from the jars of the archives
	@python packaging/definitions.py

lock: ## resolve requirements.lock anew from pyproject.toml
	@uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock

.PHONY: python
python:
	@[ -n "$(PYTHON)" ] || { echo "make: no Python 3.11 or newer with venv found (Debian: apt-get install python3 python3-venv)" >&2; exit 1; }
