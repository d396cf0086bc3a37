# Go 1.26, make and bash have to be there. What else the tests need is
# installed by "make test": see scripts/servers.
#
#	make test           all tests of all modules, on real servers
#	make test RACE=1    the same with the race detector, which needs a C compiler
#	make lint           what must be clean before a commit
#	make bench          all benchmarks: BENCH=regexp COUNT=10
#	make fuzz           each fuzz target for FUZZTIME=30s
#	make demo           keyfill at work
#
# TESTFLAGS goes to "go test": make test TESTFLAGS='-run Upsert -v'.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

RACE      ?=
TESTFLAGS ?=
BENCH     ?= .
COUNT     ?= 1
FUZZTIME  ?= 30s
# A folder with a copy of https://vuln.go.dev, for govulncheck.
VULNDB    ?=

staticcheck := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: test lint bench fuzz demo servers

# A server that is missing fails the tests that need it. Results are not
# cached: they depend on the servers installed.
test: servers
	KEYFILL_TEST_REQUIRE=1 scripts/each-module \
		go test -count=1 -timeout=20m $(if $(filter 1,$(RACE)),-race) $(TESTFLAGS) ./...

servers:
	@RACE=$(RACE) scripts/servers

lint:
	bash -n scripts/* .ci/run
	@unformatted=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
	if [[ -n "$$unformatted" ]]; then \
		printf 'not formatted by gofmt:\n%s\n' "$$unformatted"; \
		exit 1; \
	fi
	scripts/each-module go mod tidy -diff
	scripts/each-module go vet ./...
	scripts/each-module $(staticcheck) ./...
ifeq ($(VULNDB),)
	@echo "govulncheck: no database, skipped"
else
	scripts/each-module $(govulncheck) -db "file://$(abspath $(VULNDB))" ./...
endif

bench: servers
	KEYFILL_TEST_REQUIRE=1 scripts/each-module \
		go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout=60m ./...

fuzz:
	scripts/each-module "$(CURDIR)/scripts/fuzz" $(FUZZTIME)

demo:
	go run ./cmd/keyfill demo
