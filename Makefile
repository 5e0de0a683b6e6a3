# The commands of this repository. `make test` is the one that has to pass.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 60s
TIMEOUT ?= 40m

# Databases that live for one test wait for no disk where there is room in memory.
MEMORY := $(shell [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 4000000 ] && echo /dev/shm)

.PHONY: build test tools lint docs vulnerabilities fuzz bench demo clean

build:
	go build -o bin/mandate ./cmd/mandate

# The databases, browser and foreign clients that the tests want are installed first where that is allowed.
# Tests that miss one are skipped, which is said before and after, or fail when CI=true or MANDATE_TEST_REQUIRE=all.
test: tools
	@.ci/tools missing
	@$(if $(MEMORY),TMPDIR=$(MEMORY)) go test -race -timeout $(TIMEOUT) ./...; code=$$?; .ci/tools missing; exit $$code

tools:
	@.ci/tools install

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go vet ./...
	go run $(STATICCHECK) ./...

# Writes the tables of docs that are generated from the source. The tests compare them.
docs:
	go test $$(grep -rl --include=*_test.go 'flag.Bool("update"' . | xargs -n 1 dirname | sort -u) -run Docs -update

# Needs a network, so it is not part of .ci/run; `make vulnerabilities ARGS="-db URL"` asks another database.
vulnerabilities:
	@.ci/vulnerabilities $(ARGS)

# Each fuzz target for FUZZTIME. The go command fuzzes one target of one package at a time.
fuzz:
	@set -e; for package in $$(go list ./...); do \
		targets=$$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); \
		for target in $$targets; do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

# The table against the bare handlers; `make bench ARGS="soak"` and others are in `go run ./conformance/bench -h`.
bench:
	go run ./conformance/bench $(ARGS)

demo:
	go run ./cmd/mandate demo

clean:
	rm -rf bin
