# The commands of this repository. `make test` is the one that has to pass; `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 60s
TIMEOUT ?= 75m

# Databases that live for one test wait for no disk where there is room in memory.
MEMORY := $(shell [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 4000000 ] && echo /dev/shm)

# The race detector watches the tests beside the code, and the program bin/watched: the rules of all documents run on it,
# many at the same time, and TestRaces has people at its pages, while clients get tokens and an operator gives commands.
# Other tests of the built server do one thing after the other, and take two to five times as long with the detector. They
# run without it; MANDATE_TEST_RACE=all gives it to the servers of conformance/mandate that are processes.
# These have no detector: modernc.org/sqlite/lib, modernc.org/libc and modernc.org/memory, SQLite, its C library and the
# allocator, which the library locks, translated into Go. They keep their data outside of Go's heap, where the detector
# sees nothing; only races at SQLite's own global variables are not found. With the detector SQLite takes several times as
# long. The driver, modernc.org/sqlite, is watched like our own code.
# The arithmetic of ciphers and password hashes has no detector either: it shares nothing, and takes most of the time of
# a login and of a new key. The same goes for what executes templates and parses HTML: each page has its own. The packages
# html/template, where templates share state, and reflect, which reads the values of a page, are watched. The detector also
# makes the compiler check unsafe pointers; we have none. These flags are in GOFLAGS, because the go command notes only the
# last -gcflags of a build.
UNWATCHED := golang.org/x/crypto/... crypto/internal/fips140/... modernc.org/memory text/template/... golang.org/x/net/html
WITHOUT := -gcflags=all=-d=checkptr=0 $(UNWATCHED:%=-gcflags=%=-race=false)
RACE := -race '-gcflags=modernc.org/...lib...=-race=false'

# The packages whose tests run the built server, with browsers and foreign clients. Those that take long come first.
RUNNING := mandate/conformance/mandate mandate/conformance \
	$(addprefix mandate/conformance/,faults foreign bench programs)
# MEASURED compare processor times or allocated memory, which the detector changes: they run with it and without it.
MEASURED := mandate/provider/password mandate/handlers/resource
# ALONE start no goroutine, neither in the package nor in its tests (TestAloneStartNoGoroutine): the race detector would
# find nothing, and takes most of their time.
ALONE := mandate/app/config mandate/conformance/jose mandate/conformance/rules mandate/provider/authority mandate/provider/blocklist \
	mandate/provider/errorcode mandate/provider/jose mandate/provider/logo mandate/provider/passkey mandate/provider/presets \
	mandate/provider/redirect mandate/templates mandate/templates/languages mandate/testkit/metrics mandate/testkit/rename
PACKAGES = $(shell go list ./...)

.PHONY: help module build test test-all test-fast tools lint docs foreign vulnerabilities fuzz bench demo clean

build: ## the binary bin/mandate
	go build -o bin/mandate ./cmd/mandate

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 22

# A flow of the built server runs on one of the two databases (testkit.Databases).
# The databases, browser and foreign clients that the tests need are installed first where that is allowed.
# make prints which ones are missing, before and after the tests. Tests that miss one are skipped, or fail when CI=true
# or MANDATE_TEST_REQUIRE=all.
# The server is built first, with and without the race detector, for all packages that run it. Four tests of a package
# run at the same time, because tests that run in parallel wait for much of their time.
#
# A program with the race detector would wait for a second before it ends. Without this wait (GORACE) a race is not found
# in a goroutine that still runs at the end.
#
# At the end stands how long the slowest tests and packages took. A package whose processor time is measured is tested
# again even if nothing has changed. go vet is a part of make lint.
test: tools ## all tests; those beside the code, and a server, with the race detector
	@.ci/tools missing
	@GOFLAGS="$(GOFLAGS) $(WITHOUT)" go build $(RACE) -o bin/watched ./cmd/mandate
	@go build -o bin/mandate ./cmd/mandate
	@go build -o bin/times ./testkit/times
	@$(if $(MEMORY),export TMPDIR=$(MEMORY);) \
		export GORACE=atexit_sleep_ms=0 MANDATE_TEST_PROGRAM="$$PWD/bin/mandate" MANDATE_TEST_WATCHED_PROGRAM="$$PWD/bin/watched"; processor=$$(mktemp); times="$$PWD/bin/times -processor $$processor"; \
		tests() { go test -json -vet=off -exec "$$times -exec" -parallel 4 -timeout $(TIMEOUT) "$$@"; echo "exit code $$?"; }; \
		$$times <(tests $(foreach package,$(RUNNING) $(MEASURED) $(ALONE),$(filter $(package),$(PACKAGES)))) \
			<(GOFLAGS="$(GOFLAGS) $(WITHOUT)" tests $(RACE) $(filter-out $(RUNNING) $(ALONE),$(PACKAGES))); \
		code=$$?; rm -f $$processor; .ci/tools missing; exit $$code

test-all: ## everything: each flow on both databases, faults with all rules near them, programs of others, each fuzz target for FUZZTIME
	MANDATE_TEST_ALL=true MANDATE_TEST_PROCESS=all MANDATE_TEST_RACE=all $(MAKE) test
	$(MAKE) foreign
	$(MAKE) fuzz

# It takes at most 90 seconds when the build cache is warm.
test-fast: ## gofmt, go vet, and the tests that need no built server, browser, PostgreSQL or foreign client; without race
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	@$(if $(MEMORY),TMPDIR=$(MEMORY)) go test -short $(filter-out $(RUNNING),$(PACKAGES))

tools: ## install what the tests need
	@.ci/tools install

lint: ## gofmt, go mod tidy, go vet, staticcheck, metrics
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go -C provider/framework/oryx mod tidy -diff
	go vet ./... github.com/ory/x/errorsx github.com/ory/x/otelx
	go vet -tags foreign ./conformance/foreign ./conformance/programs
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags foreign ./conformance/foreign ./conformance/programs
	go run ./testkit/metrics

# make module TO=example.org/team/mandate. It changes the files of the working tree; look at them with git diff.
module: ## gives the Go module the path TO, for whoever hosts it
	go run ./testkit/rename "$(TO)"

# Writes the tables of docs that are generated from the source. The tests compare them.
docs: ## write the tables of docs that are generated
	go test $$(grep -rlF --include=*_test.go 'testkit.DocsBlock(' . | xargs -n 1 dirname | sort -u) -run Docs -update

# Downloads the servers once, to the user's cache folder, and checks all rules on each three times. Then it signs people in
# to programs, which it downloads too. It installs nothing: it says which program is missing. One server:
# `make foreign ARGS="-run Keycloak"`.
foreign: ## all rules on servers of other projects, and logins to programs of others, which it downloads
	@MANDATE_TEST_ALL=true MANDATE_TEST_REQUIRE=all $(if $(MEMORY),TMPDIR=$(MEMORY)) go test -tags foreign -count 1 -timeout $(TIMEOUT) -v ./conformance/foreign ./conformance/programs $(ARGS)

# Needs a network, so it is not part of .ci/run; `make vulnerabilities ARGS="-db URL"` asks another database.
vulnerabilities: ## known vulnerabilities of what the binary is built from
	@.ci/vulnerabilities $(ARGS)

# Each fuzz target for FUZZTIME. The go command fuzzes one target of one package at a time. By default it would spend up
# to a minute on making one new input shorter, and try nothing else.
fuzz: ## each fuzz target for FUZZTIME
	@set -e; for package in $$(go list ./...); do \
		targets=$$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); \
		for target in $$targets; do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package; \
		done; \
	done

# The table against the bare handlers; `make bench ARGS="soak"` and others are in `go run ./conformance/bench -h`.
bench: ## how fast the server is
	go run ./conformance/bench $(ARGS)

demo: ## a server with sample data
	go run ./cmd/mandate demo

clean: ## remove bin
	rm -rf bin
