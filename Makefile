# `make run` and `make test` do all the set-up on a Debian machine with a Rust toolchain.
# `make help` lists the targets.

# Outside the clone, so that the next clone finds its dependencies built.
CACHE ?= $(HOME)/.cache/sillok
CARGO_TARGET_DIR ?= $(CACHE)/target
TOOLS ?= $(CACHE)/tools
# What `sillok serve` uses when nothing else is configured.
SILLOK_DATA ?= $(HOME)/.local/share/sillok

# Cycles of kill and restart in `make crash`, and of power loss and restart.
CYCLES ?= 20
POWER_LOSSES ?= 20
# Worlds at a time in `make sim`.
JOBS ?= $(shell nproc)
# The first of the fresh seeds of `make sim`: another one at each run, printed so that it can be given.
FRESH ?= $(shell date +%s)000
# The seeds of `make sim-fifty`: a world of fifty nodes takes minutes of a core.
FIFTY_SEEDS ?= 0..4
# The commit whose nodes `make test-versions` runs beside those of this one: the last one that reads version 4 on the wire.
OLD ?= c104b40
# Further arguments, such as `make run DEMO_ARGS=--json` or `make bench BENCH_ARGS='--only store'`.
DEMO_ARGS ?=
BENCH_ARGS ?=
# What `make dedup-pairs` judges by as well: a directory that holds a sentence transformer, its name at the hub, or with
# `MODEL_ARGS='--provider ollama'` (or openai) the name of a provider's model. Further arguments go there as well, such as
# `--url http://localhost:11434 --similar 0.8 --list`.
MODEL ?=
MODEL_ARGS ?=
# `make circular-pairs PAIRS_ARGS=--list` names the pairs of the tuned half that are judged wrongly.
PAIRS_ARGS ?=
# Which mutants, such as `make mutants MUTANTS_ARGS='--re store/src/occ'`.
MUTANTS_ARGS ?=

# The binary, for the tests that start real processes.
SILLOK_BIN ?= $(CARGO_TARGET_DIR)/debug/sillok

# All packages but the one that is linked with FoundationDB's client, which few machines have.
HERE = --workspace --exclude sillok-store-fdb

# Where FoundationDB's client library lies elsewhere than the linker looks, FDB_CLIENT_LIB_PATH says where.
WITH_FDB = LIBRARY_PATH="$$FDB_CLIENT_LIB_PATH:$$LIBRARY_PATH" LD_LIBRARY_PATH="$$FDB_CLIENT_LIB_PATH:$$LD_LIBRARY_PATH"

export CARGO_TARGET_DIR TOOLS SILLOK_BIN
# Debian keeps nats-server, which tests start, where only root looks.
export PATH := $(TOOLS)/bin:$(TOOLS)/python/bin:$(PATH):/usr/sbin

# $(call stage,NAME,COMMAND): runs COMMAND and prints the seconds it took.
define stage
@printf '== %s\n' '$(1)' >&2; start=$$(date +%s); { $(2); } || exit $$?; \
printf '== %s: %s s\n' '$(1)' "$$(( $$(date +%s) - start ))" >&2
endef

# One thing after the other: cargo uses all cores by itself, and the output stays readable.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup setup-build setup-check seal build hook-static run test test-rust test-doc test-versions sim sim-fifty sim-speed \
	planted bench dedup-pairs circular-pairs crash mutants k8s-check mcp-conformance clients test-clients schemathesis tidy fmt \
	fmt-check lint lint-fdb test-fdb deny doc clean-data

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '  %-14s %s\n' "$$name" "$$text"; done

setup: setup-build setup-check ## install whatever the machine lacks

setup-build:
	@.ci/setup build

setup-check:
	@.ci/setup check

seal:
	@.ci/setup seal

build: setup-build ## build the sillok and sillok-hook binaries
	$(call stage,build,cargo build --locked -p sillok-cli -p sillok-hook --bin sillok --bin sillok-hook)

# Agents start it at each of their events, on machines that may have other libraries than this one.
HOOK_TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
HOOK_STATIC = $(CARGO_TARGET_DIR)/$(HOOK_TARGET)/release/sillok-hook

hook-static: setup-build ## build sillok-hook for release, without shared libraries
	$(call stage,build sillok-hook,RUSTFLAGS='-C target-feature=+crt-static' \
		cargo build --locked --release -p sillok-hook --target $(HOOK_TARGET))
	@! readelf --program-headers --wide $(HOOK_STATIC) | grep INTERP
	@$(HOOK_STATIC) --version

run: build ## build, then show five agents at work: sillok demo
	@$(SILLOK_BIN) demo $(DEMO_ARGS)

test: setup fmt-check tidy lint lint-fdb deny k8s-check build test-doc test-rust test-clients schemathesis test-fdb sim ## all that CI runs

test-rust: setup-check build ## unit, property and end-to-end tests
	$(call stage,build nodes for tests,cargo build --locked --quiet $(HERE) --bin sillok-test-node --bin sillok-test-store)
	$(call stage,nextest,cargo nextest run --locked $(HERE) --profile ci)

# Built from a clone of its own, and apart from what is built here: cargo takes a crate of both for the same one. The
# first time everything is built that it depends on.
OLD_SOURCE = $(CARGO_TARGET_DIR)/source-of-$(OLD)
OLD_TARGET = $(CARGO_TARGET_DIR)/target-of-$(OLD)
OLD_BIN = $(OLD_TARGET)/debug/sillok-test-node

test-versions: setup-check build ## nodes of this commit beside nodes of an earlier one, OLD
	@test -d $(OLD_SOURCE) || { rm -rf $(OLD_SOURCE).part && git clone --quiet . $(OLD_SOURCE).part && \
		git -C $(OLD_SOURCE).part checkout --quiet $(OLD) && mv $(OLD_SOURCE).part $(OLD_SOURCE); }
	$(call stage,build nodes of $(OLD),cargo build --locked --manifest-path $(OLD_SOURCE)/Cargo.toml \
		--target-dir $(OLD_TARGET) $(HERE) --bin sillok-test-node)
	$(call stage,build nodes for tests,cargo build --locked --quiet $(HERE) --bin sillok-test-node --bin sillok-test-store)
	$(call stage,nodes of two commits,SILLOK_OLD_BIN=$(OLD_BIN) \
		cargo nextest run --locked $(HERE) --profile ci -E 'package(sillok-tests) & test(/^versions::/)')

test-doc: ## examples in docstrings
	$(call stage,doc tests,cargo test --locked --quiet $(HERE) --doc)

# What fails is written to target/sim of the cache, as replay files.
SIM = $(CARGO_TARGET_DIR)/debug/sillok-sim run --jobs $(JOBS) --out $(CARGO_TARGET_DIR)/sim

sim: setup-check ## the seed bank, seeds 0..1000, and 200 fresh seeds
	$(call stage,build sillok-sim,cargo build --locked --quiet $(HERE) --bin sillok-sim)
	$(call stage,seed bank,$(SIM) --bank crates/sim/seeds)
	$(call stage,seeds 0..1000,$(SIM) --seeds 0..1000)
	@first=$(FRESH); printf '== fresh seeds, again by make sim FRESH=%s\n' "$$first" >&2; \
		$(SIM) --seeds "$$first..$$(( first + 200 ))"

sim-fifty: setup-check ## worlds of fifty nodes, with the seeds FIFTY_SEEDS
	$(call stage,build sillok-sim,cargo build --locked --quiet $(HERE) --bin sillok-sim)
	$(call stage,fifty nodes,$(SIM) --seeds $(FIFTY_SEEDS) --profile crates/sim/profiles/fifty-nodes.json)

# Built as users build it for their own CI (docs/simulation.md).
sim-speed: setup-check ## default worlds an hour on one core; fails under 10,000; for a machine that does nothing else
	$(call stage,build sillok-sim for speed,cargo build --locked --quiet --release -p sillok-sim)
	$(call stage,speed,$(CARGO_TARGET_DIR)/release/sillok-sim run --seeds 0..150 --jobs 1 --default-worlds-min 10000 \
		--out $(CARGO_TARGET_DIR)/sim)

planted: setup-check ## plant each known bug and see it caught, brought about again and made smaller
	$(call stage,build sillok-sim,cargo build --locked --quiet $(HERE) --bin sillok-sim)
	$(call stage,planted bugs,$(CARGO_TARGET_DIR)/debug/sillok-sim planted --jobs $(JOBS) --check \
		--out $(CARGO_TARGET_DIR)/planted)

bench: setup-check build ## benchmarks as a table; fails under a floor
	$(call stage,build bench and nodes for tests,cargo build --locked --quiet $(HERE) --bin sillok-bench --bin sillok-test-node \
		--bin sillok-test-store)
	@$(CARGO_TARGET_DIR)/debug/sillok-bench $(BENCH_ARGS)

dedup-pairs: setup-check ## what becomes of the labelled pairs of lessons, also with MODEL=; fails under a floor
	@cargo run --locked --quiet -p sillok-builtin --example dedup_pairs
	@$(if $(MODEL)$(findstring --model,$(MODEL_ARGS)),cargo run --locked --quiet -p sillok-perception \
		--example dedup_pairs_of_model -- $(if $(MODEL),'$(MODEL)') $(MODEL_ARGS))

circular-pairs: setup-check ## how well the labelled pairs of errors and of approaches are told apart; fails under a floor
	@cargo run --locked --quiet -p sillok-core --example circular_pairs -- $(PAIRS_ARGS)

crash: setup-check build ## kill a server in mid-load CYCLES times, and take its power POWER_LOSSES times
	SILLOK_CRASH_CYCLES=$(CYCLES) SILLOK_POWER_LOSSES=$(POWER_LOSSES) cargo nextest run --locked --profile long \
		-p sillok-tests -E 'test(crash)'

mutants: setup-check ## mutate the protocol; fails when more than 5 % survive; takes hours
	@.ci/setup mutants
	$(call stage,mutants,CACHE='$(CACHE)' .ci/mutants $(MUTANTS_ARGS))

k8s-check: setup-check ## render the Kubernetes overlays and hold them against schemas and rules
	@.ci/setup k8s
	$(call stage,build sillok-k8s-check,cargo build --locked --quiet -p sillok-k8s-check)
	$(call stage,k8s,.ci/k8s-check $(CARGO_TARGET_DIR)/debug/sillok-k8s-check)

mcp-conformance: setup-check build ## the conformance suite, the inspector and the Python client of MCP against a server
	@.ci/setup mcp
	$(call stage,mcp,tests/mcp/run '$(SILLOK_BIN)' '$(TOOLS)')

# The tools of the clients stand in the path of what needs them alone: there is another Python among them.
WITH_CLIENT_TOOLS = PATH="$(TOOLS)/clients/bin:$$PATH" PYTHONDONTWRITEBYTECODE=1
GENERATED = $(CARGO_TARGET_DIR)/clients

clients: setup-build build ## write the clients anew, out of the OpenAPI document
	@.ci/setup clients
	$(call stage,clients,$(WITH_CLIENT_TOOLS) clients/generate $(SILLOK_BIN) clients)

test-clients: setup-build build ## whether the clients are as the document says, their types, and tests of them on a real server
	@.ci/setup clients
	$(call stage,clients as the document says,rm -rf $(GENERATED) && \
		$(WITH_CLIENT_TOOLS) clients/generate $(SILLOK_BIN) $(GENERATED) && .ci/clients-differ $(GENERATED))
	$(call stage,types of the clients,cd clients/python && MYPYPATH=. $(WITH_CLIENT_TOOLS) \
		mypy --cache-dir $(CARGO_TARGET_DIR)/mypy sillok tests ../operations.py ../../examples/ralph-loop/ralph.py \
		../../.config/schemathesis/hooks.py)
	$(call stage,tests of the Python client,cd clients/python && PYTHONPATH=. $(WITH_CLIENT_TOOLS) pytest)
	$(call stage,types and tests of the TypeScript client,cd clients/typescript && rm -rf dist && node_modules/.bin/tsc && \
		node --test --test-reporter=tap dist/test/*.test.js)

# How many drawn requests of each operation and how many sequences, such as EXAMPLES=100, instead of those of
# .config/schemathesis; and further arguments, such as SCHEMATHESIS_ARGS='--seed 7'.
EXAMPLES ?=
SCHEMATHESIS_ARGS ?=

schemathesis: setup-build build ## ask a server whatever its OpenAPI document allows and forbids; all checks, calls in sequences too
	@.ci/setup clients
	$(call stage,schemathesis,$(WITH_CLIENT_TOOLS) .ci/schemathesis $(SILLOK_BIN) \
		$(if $(EXAMPLES),--max-examples $(EXAMPLES)) $(SCHEMATHESIS_ARGS))

tidy: ## opening docstrings, lengths, arrows between crates, banned words
	$(call stage,tidy,cargo run --locked --quiet -p sillok-tidy)

fmt: ## format
	@cargo fmt --all

fmt-check: setup-check
	$(call stage,rustfmt,cargo fmt --all --check)

lint: setup ## clippy with the determinism lists; warnings are errors
	$(call stage,clippy,cargo clippy --locked $(HERE) --all-targets -- -D warnings)

deny: setup-check ## licences, banned crates, sources
	$(call stage,deny,cargo fetch --locked --quiet && cargo deny --offline check bans licenses sources)

# As far as that goes without the client library. On its own, since what it is built with would have much
# of everything else built twice.
lint-fdb: setup
	@.ci/setup fdb
	$(call stage,clippy with FoundationDB,\
		cargo clippy --locked -p sillok-store-fdb -p sillok-cli --features sillok-cli/fdb --all-targets -- -D warnings)

ifdef FDB_CLUSTER_FILE
# The binary with FoundationDB is put aside, since cargo knows but one place for both. The former one goes first: cargo
# puts a file that is up to date there as a link, and nothing is moved onto itself.
FDB_BIN = $(CARGO_TARGET_DIR)/debug/sillok-fdb

# With SILLOK_CLUSTER_KILLS=50 in the environment nodes are killed so often, and nothing is cut off.
test-fdb: setup-check ## the store on the cluster of FDB_CLUSTER_FILE, and nodes on a fdbserver of their own
	@.ci/setup fdb
	$(call stage,store on FoundationDB,$(WITH_FDB) cargo nextest run --locked --profile ci -p sillok-store-fdb)
	$(call stage,build with FoundationDB,$(WITH_FDB) \
		cargo build --locked -p sillok-cli --features fdb --bin sillok && rm -f $(FDB_BIN) && mv $(SILLOK_BIN) $(FDB_BIN))
	@$(MAKE) --no-print-directory build
	$(call stage,build nodes for tests,cargo build --locked --quiet $(HERE) --bin sillok-test-node --bin sillok-test-store)
	$(call stage,nodes on FoundationDB,$(WITH_FDB) SILLOK_FDB_BIN=$(FDB_BIN) \
		cargo nextest run --locked $(HERE) --profile $(if $(SILLOK_CLUSTER_KILLS),long,ci) \
		-E 'package(sillok-tests) & test(/^(cluster|versions|traces|contention)::|^decisions::.*through_all_nodes|every_line_of_the_clusters_tour/)')
else
test-fdb:
	@echo '== tests on FoundationDB: skipped, since FDB_CLUSTER_FILE names no cluster' >&2
endif

doc: setup-build ## API documentation; a broken link is an error
	$(call stage,doc,RUSTDOCFLAGS='-D warnings' cargo doc --locked $(HERE) --no-deps)

clean-data: ## remove the default data directory: all that was remembered
	@case '$(SILLOK_DATA)' in ''|/|'$(HOME)'|'$(HOME)/') echo 'SILLOK_DATA names no data directory' >&2; exit 2;; esac
	@if [ -d '$(SILLOK_DATA)' ]; then rm -r -- '$(SILLOK_DATA)' && echo 'removed $(SILLOK_DATA)'; fi
