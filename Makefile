# Go 1.26, make and bash have to be there. What else the tests need is
# installed by "make test": see scripts/servers.
#
#	make quick          the tests that need no server, in seconds: while you work
#	make test           all tests of all modules, on real servers; of the drivers, sources
#	                    and faults that a test knows it takes some, TURN=2 others. It prints
#	                    how many turns take all. WHOLE=1 takes all, RACE=1 runs under the
#	                    race detector; with BASE, a commit, tests whose files differ from it
#	                    take all of their choices, and tests of documents and programs that
#	                    differ run too
#	make race           the race detector where goroutines meet: the engine-free tests of the
#	                    wrapper and its sources, etcd, Redis, and keys in the caller's
#	                    transaction
#	make everything     all tests with all of their choices, under the race detector and
#	                    without it where that shortens them, make newest, make oldest and
#	                    make oldsqlite: every night, and before an issue is closed. It prints
#	                    the tree's hash, minutes, load and result
#	make loaded         make test beside eight busy loops: no test may fail because a machine
#	                    is slow
#	make faults         the faults of faults/faults.jsonl: is each still found by the test
#	                    that has found it? TURNS=9 gives the test so many turns, ALL=1
#	                    searches all tests again: see faults/main.go
#	make coverage       which statements all tests of all modules reach, into OUT=now.txt;
#	                    fails if that is less than in BEFORE=before.txt, by more than half
#	                    a point or than AGAIN=again.txt differs from it
#	make newest         the tests of what only a newer Go has, by NEWEST=go1.27.1
#	make oldest         the tests of the modules that applications import, with the oldest
#	                    versions, which they require; make test takes the versions of e2e
#	make oldsqlite      the tests of the states of a session of SQLite with the library of
#	                    the system, which is older than the one in the drivers
#	make lint           what must be clean before a commit
#	make sim            the simulator: looks for all mutants, and then runs all trials in turn
#	                    from as many seeds as SIMTIME=1h gives; TRIAL=regexp for some of
#	                    them, FROM=1 for the first seed. SEED=42 TRIAL=sequence tells the
#	                    story of that world: docs/simulator.md
#	make soak           faults at length: processes killed for SOAKTIME=2m, for each
#	                    engine and source, SOAKROWS=10000000 rows into one table, and
#	                    each source for SOAKGALERA=60s on three nodes of a cluster; old
#	                    and new processes at once for SOAKROLLING=10m a way; then the long
#	                    forms of what "make test" does in seconds, such as an operator's
#	                    troubles under the alert rules with their own times; and 64
#	                    processes on each of SOAKSTORES='MariaDB|PostgreSQL|Galera|etcd|Redis',
#	                    while everything fails in turn
#	make roundtrips     how many round trips a second to each store 1, 8 and 64 processes
#	                    make: 10 minutes
#	make bench          what keyfill costs beside named rivals, and whether the bars are
#	                    met: 13 minutes; ROUNDS=5 ONLY='null|keys' for less. The groups
#	                    are null, keys, compile, cache, blocked, size, engines,
#	                    selects, kept, numbers, starts and proofs. With BASE, a commit, both are measured in turns,
#	                    ROUNDS=7 of them, and it fails if a figure is worse by more than
#	                    its A/A spread
#	make profiles       where the time of the same ways goes, by function and beside the
#	                    rival's: 4 minutes; ROUNDS=3 ONLY='null|keys|engines' for less
#	make cost           what the statistics cost a filled INSERT, in instructions that
#	                    valgrind counts and in time of the processor: 2 minutes
#	make rollout        what a rolling restart costs in integers, waits and requests, by
#	                    source and store: PROCESSES=3,16,64 STORES=MariaDB,PostgreSQL,etcd;
#	                    half an hour
#	make crowd          rows and reservations a second of 10 to 10,000 processes, on each store:
#	                    64 real ones, which are compared with the simulation of the others:
#	                    CROWD='PostgreSQL|etcd' for some stores; half an hour
#	make layouts        ROWS=2000000 into a table by engine and layout of the key, time and
#	                    size: ENGINES=PostgreSQL,MariaDB,SQLite for some; half an hour
#	make charts         draws the tables of docs/performance.md into docs/charts
#	make benchmarks     all benchmarks of all modules: BENCH=regexp COUNT=10
#	make approaches     the ways to make keys side by side, under 1 to 16 connections on
#	                    MariaDB and PostgreSQL: TIME=2s a cell, CONNECTIONS=1,2,4,8,16
#	                    ENGINES=mariadb,postgresql FORMS= METHODS= for some of them; 15
#	                    minutes
#	make fuzz           each fuzz target for FUZZTIME=30s: FUZZ=regexp FUZZFLAGS='-parallel=1'.
#	                    FUZZ=FuzzStored FUZZTIME=200000x compares that many programs with the
#	                    plain driver on each engine, some hours; they run without "go test
#	                    -fuzz", whose search for new code of the process says nothing of what
#	                    a server does
#	make corpus         what becomes of the SQL statements in CORPUS=folder, judged by
#	                    parsers that know nothing of keyfill, also with unknown words in
#	                    the clauses, and by the law that a text with an unknown function or
#	                    statement in it is never taken for one that changes nothing;
#	                    CORPUSFLAGS=-speed for how long they take to compile.
#	                    Of the INSERTs of applications it prints how many are refused, by
#	                    dialect and source. Where tables can be made of the CREATE TABLE
#	                    statements, each explanation has to be what the driver does, and a
#	                    word more has to store what the plain driver stores
#	make suites         the test suites of other projects at fixed versions from the module
#	                    proxy, plain and filled, and whether the same tests fail:
#	                    SUITES='gorp|xorm' for some of them. KEYFILL_SUITES_OUTPUT=folder
#	                    keeps what each run has written; half an hour
#	make losses         loses the state of each source in each store in every way, and writes
#	                    what becomes of INSERTs then into e2e/faults/testdata/losses.txt and
#	                    docs/guarantees.md: look at the difference. LOSSES='etcd|Redis' for
#	                    some stores; 10 minutes
#	make replicas       promotes standbys under load, and writes what became of the keys of
#	                    each source into docs/replicas.md; 5 minutes
#	make reference      docs/reference.md, from the JSON Schema of the policy file
#	make release        the command for six platforms by VERSION=v1.2.3, with checksums and
#	                    lists of its modules, into DIST=dist: all of it built twice and
#	                    compared. RELEASEFLAGS='-once -platforms linux/amd64' for less.
#	                    It fails if govulncheck finds a hole, or no database: VULNDB=folder
#	                    has a copy, else it asks vuln.go.dev
#	make tag            the commit and the tags of VERSION=v1.2.3, in this clone alone
#	make demo           keyfill at work
#
# TESTFLAGS goes to "go test": make test TESTFLAGS='-run Upsert -v'.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

RACE      ?=
WHOLE     ?=
# Which of the engines, drivers, sources and faults have their turn: see internal/testturn
# and scripts/by-turns.
TURN      ?= 1
BASE      ?=
TESTFLAGS ?=
BENCH     ?= .
COUNT     ?= 1
TIME      ?= 2s
FUZZTIME  ?= 30s
FUZZ      ?= ^Fuzz
FUZZFLAGS ?=
SOAKTIME  ?= 2m
SIMTIME   ?= 1h
SEED      ?=
TRIAL     ?=
FROM      ?= 0
TURNS     ?= 0
ALL       ?=
OUT       ?=
BEFORE    ?=
AGAIN     ?=
SOAKROWS  ?= 10000000
SOAKGALERA ?= 60s
SOAKROLLING ?= 10m
SOAKSTORES ?= .
# Files <dialect>.*.jsonl with lines {"id": …, "sql": …}, and applications.*.jsonl, whose
# lines say their "dialect"; flags of judge/main.go, such as -select=98, the bar for
# INSERT … SELECT, and -refused-uuids=1, the bar for INSERTs of applications.
CORPUS      ?= ../shared/corpus
CORPUSFLAGS ?=
# Of what "make bench", "make profiles" and "make layouts" measure. The figures go to RESULTS as JSON;
# PAGE gets the tables of whole runs on a quiet machine. See bench/figures and
# bench/layouts.
ROUNDS  ?=
ONLY    ?=
ROWS    ?=
RESULTS ?= bench/results
PAGE    ?= docs/performance.md
# Of what "make rollout" measures; STORES empty: all, and the tables go to docs/kubernetes.md.
PROCESSES ?= 3,16,64
STORES    ?=
# The stores of "make crowd", separated by |; empty: all, and the tables go to PAGE.
CROWD ?=
# Of what "make approaches" measures; empty: all. See bench/approaches.
CONNECTIONS ?=
ENGINES     ?=
FORMS       ?=
METHODS     ?=
# Of the stores of "make losses", by their names.
LOSSES ?= .
# Of the suites of other projects, by the names of their files in suites/list.
SUITES ?= .
# Of a release: see CONTRIBUTING.md and release/main.go.
VERSION      ?=
DIST         ?= dist
RELEASEFLAGS ?=
# The Go of "make newest", which is downloaded where it is missing.
NEWEST      ?= go1.27.1
# A folder with a copy of https://vuln.go.dev, for govulncheck. make lint leaves govulncheck
# out without it, and a release fails if there is no database at all.
VULNDB    ?=

golangci    := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
govulncheck := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: test testrun race everything loaded quick faults coverage newest oldest oldsqlite lint sim soak roundtrips bench cost profiles layouts crowd charts benchmarks approaches fuzz corpus suites losses replicas reference release tag demo servers

# A server that is missing fails the tests that need it. Results are not
# cached: they depend on the servers installed. Tests wait for servers, processes
# and leases, so more packages and more tests run at once than there are processors. Two
# dozen leave two processors no idle second; of more, each takes longer, up to the
# deadlines of what it tests. The end of a module is one
# package that waits, so other modules run beside it; e2e takes as long as all others. What
# waits longest begins first. Debuggers alone read DWARF and symbols: without them a test
# program is linked in half the time; with GOGC=400 they collect their garbage more rarely.
# A program that dies is started again for the tests that have no result.
longest := ./keys ./apps ./statements ./faults ./stores
test: override export TURN := $(if $(filter 1,$(WHOLE)),,$(TURN))
test: export BASE := $(BASE)
test: servers testrun
	scripts/by-turns scripts/quickly env KEYFILL_TEST_REQUIRE=1 $(if $(filter 1,$(RACE)),,GOGC=400) AT_ONCE=2 VERSIONS=e2e FIRST='e2e keyfilletcd keyfillredis' LONGEST='$(longest)' scripts/each-module \
		$(CURDIR)/scripts/longest-first -count=1 -ldflags=-s -p=3 -parallel=4 -timeout=45m $(if $(filter 1,$(RACE)),-race) $(TESTFLAGS)

# Simulations and laws are shorter under the race detector: see scripts/everything.
race: override export TURN := $(if $(filter 1,$(WHOLE)),,$(TURN))
race: export BASE := $(BASE)
race: servers testrun
	scripts/by-turns scripts/quickly scripts/race -parallel=8 $(TESTFLAGS)

# A part that fails does not stop the next one.
everything: servers testrun
	scripts/everything

loaded:
	scripts/beside-loops 8 $(MAKE) test

# Both run one test program after the other, all choices of a test at once.
faults: export GOGC = 400
faults: servers
	cd faults && GOWORK=off ../scripts/quickly go run . $(if $(filter 1,$(ALL)),record -again,check -turns $(TURNS))

coverage: export GOGC = 400
coverage: servers
	cd faults && GOWORK=off ../scripts/quickly go run . coverage $(if $(OUT),-out "$(abspath $(OUT))")
ifneq ($(BEFORE),)
	cd faults && GOWORK=off go run . compare "$(abspath $(BEFORE))" "$(abspath $(OUT))" $(if $(AGAIN),"$(abspath $(AGAIN))")
endif

# database/sql scans columns in another way from Go 1.27 on, and knows a UUID of the
# standard library, which keyfillgorm sets in structs.
newest: export GOTOOLCHAIN = $(NEWEST)
newest: export GOWORK = off
newest: servers
	go test -count=1 $(TESTFLAGS) .
	cd keyfillgorm && GOWORK=$(CURDIR)/e2e.work go test -count=1 $(TESTFLAGS) .
	cd e2e && KEYFILL_TEST_REQUIRE=1 go test -count=1 $(TESTFLAGS) ./columnscan

oldest: servers testrun
	scripts/quickly env KEYFILL_TEST_REQUIRE=1 scripts/oldest -ldflags=-s $(TESTFLAGS)

# mattn/go-sqlite3 has a library of SQLite in it, unless it is built with this tag.
oldsqlite: export GOWORK = off
oldsqlite: servers
	cd e2e && KEYFILL_TEST_REQUIRE=1 ../scripts/quickly go test -count=1 -tags=libsqlite3 -ldflags=-s \
		-run '^(TestSessionStateSQLite|TestSQLite.*)$$/mattn|sqlite3' $(TESTFLAGS) ./statements

# Simulations are shorter here, and tests go by turns. What starts servers is left out:
# internal/testdb, auto, e2e, bench and judge. The tests of the command wait most of their
# time, so they run beside the others.
quick: export KEYFILL_TEST_TURN = $(TURN)
quick: export GOGC = 400
quick:
	@(cd cmd/keyfill && GOWORK=off go test -short -ldflags=-s $(TESTFLAGS) ./...) & command=$$!; \
	go test -short -ldflags=-s $(TESTFLAGS) $$(GOWORK=off go list ./... | grep -v internal/testdb); others=$$?; \
	wait $$command && exit $$others

servers:
	@scripts/servers

# It runs go test for "make test": see internal/testrun.
testrun:
	@GOWORK=off go build -o bin/testrun ./internal/testrun

# One linter for each module, as its users see it: golangci-lint has go vet and staticcheck
# in it.
lint:
	bash -n scripts/* .ci/run
	@unformatted=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
	if [[ -n "$$unformatted" ]]; then \
		printf 'not formatted by gofmt:\n%s\n' "$$unformatted"; \
		exit 1; \
	fi
	scripts/each-module go mod tidy -diff
	VERSIONS=e2e scripts/each-module $(golangci) run ./...
	@before=$$(cksum *.work.sum); go list -m all >/dev/null; GOWORK="$$PWD/e2e.work" go list -m all >/dev/null; \
	if [[ "$$before" != "$$(cksum *.work.sum)" ]]; then \
		printf 'go.work.sum or e2e.work.sum was not whole: commit them as they are now\n'; \
		exit 1; \
	fi
ifeq ($(VULNDB),)
	@echo "govulncheck: no database, skipped"
else
	scripts/each-module $(govulncheck) -db "file://$(abspath $(VULNDB))" ./...
endif

sim:
	GOWORK=off go run ./internal/sim/explore -time $(SIMTIME) -from $(FROM) -seed '$(SEED)' -trial '$(TRIAL)'

# The figures are what is of interest, so they are shown. The stores write into memory, where
# there is plenty: three members of a cluster and a database on one disk wait for each other,
# and that is what a recovery would take.
soak: servers
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_SOAK=1 KEYFILL_SOAK_TIME=$(SOAKTIME) KEYFILL_SOAK_ROWS=$(SOAKROWS) \
		KEYFILL_SOAK_GALERA=$(SOAKGALERA) \
		go test -count=1 -timeout=5h $(if $(filter 1,$(RACE)),-race) -v \
		-run '^(TestFault(Kill|Clock|SameWorker|Rows|Cut|FetchEnded|Late|Locks|Server)|TestGalera)$$' $(TESTFLAGS) ./faults
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SOAK=1 \
		go test -count=1 -timeout=2h $(if $(filter 1,$(RACE)),-race) -v \
		-run '^(Test(JoinedSwarm|EndedSwarm|ScopeCrowd|StoreReserve|StatesDropped|BindingPairs|Matrix|PgBouncer.*|SeriesKilled|Operator|CommitCut))$$' $(TESTFLAGS) \
		./joined ./keys ./statements ./stores ./faults
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SOAK=1 \
		go test -count=1 -timeout=1h -v -run '^TestWorkerNumbers$$' $(TESTFLAGS) ./stores
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SOAK=1 KEYFILL_SOAK_ROLLING=$(SOAKROLLING) \
		go test -count=1 -timeout=4h $(if $(filter 1,$(RACE)),-race) -v \
		-run '^TestRolling' $(TESTFLAGS) ./apps
	GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SOAK=1 go test -count=1 -v -run '^TestApplications$$' $(TESTFLAGS) ./internal/vet
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SOAK=1 \
		../scripts/quickly go test -count=1 -timeout=2h $(if $(filter 1,$(RACE)),-race) -v \
		-run '^TestStores$$/$(SOAKSTORES)' $(TESTFLAGS) ./stores

# It fails where a process makes more than one round trip a second for a source.
roundtrips: servers
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SOAK=1 \
		go test -count=1 -timeout=1h -v -run '^TestRoundTrips$$' $(TESTFLAGS) ./stores

# Without a package's name, what it prints is shown at once.
ifneq ($(BASE),)
bench: servers
	cd bench && GOWORK=off go run ./compare -base '$(BASE)' $(if $(ROUNDS),-rounds $(ROUNDS)) -only '$(ONLY)'
else
bench: servers
	cd bench/figures && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_BENCH=1 KEYFILL_BENCH_ROUNDS=$(ROUNDS) KEYFILL_BENCH_ONLY='$(ONLY)' \
		KEYFILL_BENCH_JSON="$(abspath $(RESULTS))/figures.json" KEYFILL_BENCH_PAGE="$(abspath $(PAGE))" \
		go test -count=1 -timeout=1h -run '^TestFigures$$' $(TESTFLAGS)
	$(MAKE) charts
endif

# It fails where the statistics are more than 2 % of the instructions, or allocate.
cost:
	cd bench && GOWORK=off go run ./cost

# The profiles themselves stay in RESULTS/profiles, for "go tool pprof".
profiles: servers
	cd bench/figures && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_PROFILES=1 KEYFILL_BENCH_ROUNDS=$(ROUNDS) KEYFILL_BENCH_ONLY='$(ONLY)' \
		KEYFILL_PROFILES_FOLDER="$(abspath $(RESULTS))/profiles" \
		KEYFILL_BENCH_JSON="$(abspath $(RESULTS))/profiles.json" KEYFILL_BENCH_PAGE="$(abspath $(PAGE))" \
		go test -count=1 -timeout=1h -run '^TestProfiles$$' $(TESTFLAGS)

crowd: servers
	cd e2e/stores && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_CROWD=1 KEYFILL_CROWD_STORES='$(CROWD)' KEYFILL_CROWD_PAGE=$(if $(CROWD),,"$(abspath $(PAGE))") \
		go test -count=1 -timeout=3h -run '^TestCrowd$$' $(TESTFLAGS)

layouts: servers
	cd bench/layouts && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_LAYOUTS=1 KEYFILL_LAYOUTS_ROWS=$(ROWS) KEYFILL_LAYOUTS_ENGINES='$(ENGINES)' \
		KEYFILL_LAYOUTS_JSON="$(abspath $(RESULTS))/layouts.json" KEYFILL_LAYOUTS_PAGE="$(abspath $(PAGE))" \
		go test -count=1 -timeout=3h -run '^TestLayouts$$' $(TESTFLAGS)
	$(MAKE) charts

rollout: servers
	cd e2e/stores && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_ROLLOUT=$(PROCESSES) KEYFILL_ROLLOUT_STORES=$(STORES) \
		KEYFILL_ROLLOUT_PAGE=$(if $(STORES),,"$(abspath docs/kubernetes.md)") \
		go test -count=1 -timeout=3h -run '^TestRollingCost$$' $(TESTFLAGS)

# Draws the tables of docs/performance.md for docs/sources.md.
charts:
	cd bench && GOWORK=off go run ./charts

benchmarks: servers
	KEYFILL_TEST_REQUIRE=1 scripts/each-module \
		go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout=60m ./...

approaches: servers
	cd bench/approaches && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		KEYFILL_APPROACHES=1 KEYFILL_APPROACHES_TIME=$(TIME) \
		KEYFILL_APPROACHES_CONNECTIONS=$(CONNECTIONS) KEYFILL_APPROACHES_ENGINES=$(ENGINES) \
		KEYFILL_APPROACHES_FORMS=$(FORMS) KEYFILL_APPROACHES_METHODS=$(METHODS) \
		go test -count=1 -timeout=3h -run '^TestApproaches$$' $(TESTFLAGS)

fuzz: servers
	scripts/each-module "$(CURDIR)/scripts/fuzz" $(FUZZTIME) '$(FUZZ)' $(FUZZFLAGS)

corpus: servers
	cd judge && GOWORK=off go run . -corpus "$(abspath $(CORPUS))" $(CORPUSFLAGS)
ifeq ($(findstring -speed,$(CORPUSFLAGS)),)
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_CORPUS="$(abspath $(CORPUS))" \
		go test -count=1 -timeout=1h -v -run '^TestCorpus' $(TESTFLAGS) ./statements
endif

suites: servers
	cd suites && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_SUITES='$(SUITES)' \
		../scripts/quickly go test -count=1 -timeout=3h -v -run '^(TestSuites|TestGotify)$$' $(TESTFLAGS) .

losses: servers
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		../scripts/quickly go test ./faults -count=1 -timeout=2h -run '^TestLosses$$/$(LOSSES)' $(TESTFLAGS) -update

replicas: servers
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 \
		../scripts/quickly go test ./faults -count=1 -timeout=1h -v -run '^TestPromoted$$' $(TESTFLAGS) -update

reference:
	go test ./policy -run '^TestSchemaIsUpToDate$$' -update
	go run ./internal/reference >docs/reference.md.new
	mv docs/reference.md.new docs/reference.md

release:
	scripts/each-module $(govulncheck) $(if $(VULNDB),-db "file://$(abspath $(VULNDB))") ./...
	cd release && GOWORK=off go run . build -root .. -version '$(VERSION)' -out "$(abspath $(DIST))" $(RELEASEFLAGS)

# No tag without the versions in docs/compatibility.md.
tag: servers
	cd e2e && GOWORK=off KEYFILL_TEST_REQUIRE=1 KEYFILL_COMPATIBILITY=1 go test -count=1 -run '^TestCompatibility$$' ./apps
	cd release && GOWORK=off go run . tag -root .. -version '$(VERSION)'

demo:
	go run ./cmd/keyfill demo
