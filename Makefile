# All tasks of this repository, in one or two short lines each. Start with `make run`
# or `make test`.

SHELL   := /bin/bash
TAGS    := nobadger,nomysql,nopgx
VERSION := $(shell cat VERSION)
# The commit, as SemVer build metadata such as +3f2a91c0. It is empty outside of a clone.
COMMIT  := $(addprefix +,$(shell git describe --always --dirty=.dirty --exclude='*' 2>/dev/null))
CADDY   := github.com/caddyserver/caddy/v2
LDFLAGS := -s -w -X $(CADDY).CustomVersion=tollgate-$(VERSION)$(COMMIT) -X $(CADDY).CustomBinaryName=tollgate
TOOLS   := .tools/bin/.built
LINT    := .tools/bin/golangci-lint
NFPM    := .tools/bin/nfpm
NFPM_VERSION := v2.44.1
CLIENTS := cmd/tollgate/testdata/npm/node_modules/.package-lock.json
FILES   := $(wildcard caddyfiles/*/Caddyfile caddyfiles/*/*.caddyfile)

FUZZTIME ?= 1m

export TOLLGATE_BIN := $(CURDIR)/bin/tollgate
# Every build has the same flags, so that the linter and the benchmarks use the packages
# that were compiled for the binary. Only the race detector compiles its own packages.
export GOFLAGS     := -buildvcs=false -trimpath -tags=$(TAGS)
export CGO_ENABLED := 0
# The compiler and the linter collect garbage less often: a build takes a sixth less time, and a process of it up to 1 GB
# of memory. Gateways, tests and benchmarks keep the usual value of 100.
build lint: export GOGC := 300
# This package is SQLite translated from C to Go; it manages its memory itself. The race detector would
# spend half of the tests' time in it, and could not find anything there.
UNWATCHED := -gcflags=modernc.org/sqlite/lib=-race=false

# The end-to-end tests start gateways, databases and browsers, so only one of their packages runs at a
# time (-p 1).
RACE := CGO_ENABLED=1 go test -race $(UNWATCHED) -vet=off -timeout 20m

.PHONY: deps build test lint bench fuzz run xcaddy package reproduce check clean fmt
.DEFAULT_GOAL := build

deps: ## installs what other targets need: Debian packages, Go modules, pinned tools, Node.js clients
	.tools/debian.sh
	go mod download
	$(MAKE) $(TOOLS) $(CLIENTS)

build: ## bin/tollgate, one static binary
	go build -ldflags "$(LDFLAGS)" -o bin/tollgate ./cmd/tollgate

test: deps lint build ## everything: unit, adapt tables, integration, end to end with bin/tollgate; go vet is a part of lint
	status=0; \
	$(RACE) $$(go list ./... | grep -v /e2e) || status=1; \
	(cd bench && $(RACE) ./...) || status=1; \
	$(RACE) -p 1 ./cmd/tollgate/e2e/... || status=1; \
	exit $$status

lint: $(TOOLS) ## the rules of .golangci.yml, including formatting and the direction of imports
	$(LINT) run ./...
	cd bench && ../$(LINT) run --config ../.golangci.yml ./...
	cd .tools && bin/golangci-lint run --config ../.golangci.yml ./xcaddybuild ./sbom ./archive

bench: build $(CLIENTS) ## micro benchmarks, 10,000 queries on both engines, then ratios against plain Caddy in the same run; BENCH='-only a,b' for some
	go test -run '^$$' -bench . -benchmem ./...
	go test -run TestEnginesAgree ./backends/runevents/query -generated 10000
	cd bench && go run . $(BENCH)

fuzz: ## every fuzz test for a minute, one after the other; FUZZTIME=10m for longer
	set -eo pipefail; tests=$$(go test -list '^Fuzz' ./...); \
	awk '/^Fuzz/ { found[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, found[i]; n = 0 }' <<< "$$tests" | \
	while read -r package name; do \
		echo "$$package $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$package" < /dev/null; \
	done

run: build ## the quick start in the foreground; its files are in data/
	mkdir -p data
	bin/tollgate run --config caddyfiles/quickstart/Caddyfile

xcaddy: $(TOOLS) ## the same gateway built by xcaddy from xcaddy.json, module list compared
	go run .tools/xcaddybuild/main.go -tags $(TAGS) -ldflags "$(LDFLAGS)" -xcaddy .tools/bin/xcaddy -out bin/tollgate-xcaddy

package: build $(NFPM) ## bin/dist: archives of static binaries, bills of materials, Debian packages, OCI images, checksums; TARGETS=linux/amd64 for one
	VERSION="$(VERSION)" LDFLAGS="$(LDFLAGS)" NFPM="$(CURDIR)/$(NFPM)" packaging/build.sh

reproduce: ## builds the archives of bin/dist again, in another folder with an empty cache, and compares; TARGETS=linux/amd64 for one
	VERSION="$(VERSION)" LDFLAGS="$(LDFLAGS)" packaging/reproduce.sh

check: lint build ## quick look before a commit: lint, and every example is formatted and adapts
	set -e; for f in $(FILES); do echo $$f; bin/tollgate fmt $$f >/dev/null; bin/tollgate adapt --config $$f >/dev/null; done

fmt: $(TOOLS) build ## formats Go files and the examples
	$(LINT) fmt ./...
	set -e; for f in $(FILES); do bin/tollgate fmt --overwrite $$f; done

clean: ## removes bin/; data/ and the tools remain
	rm -rf bin

$(TOOLS): .tools/go.mod .tools/go.sum
	go -C .tools build -o bin/ tool
	touch $@

$(NFPM):
	GOBIN="$(CURDIR)/$(@D)" go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)

$(CLIENTS): cmd/tollgate/testdata/npm/package.json cmd/tollgate/testdata/npm/package-lock.json
	cd $(<D) && npm ci --ignore-scripts --no-audit --no-fund
	touch $@
