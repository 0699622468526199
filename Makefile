# make run     build and start the service: data in ./data, on 127.0.0.1:8278
# make test    everything: format, lint, and all tests, most of them with the race detector
# make check   the everyday loop: shorter tests without the race detector, 3 to 6 minutes
# make bench   measure the service; nothing else should run on the machine
# make soak    kills, power cuts, damages and random faults by the thousand, SOAKTIME (1h) for each test
# make fuzz    look for inputs that break a parser, FUZZTIME (30s) for each
# make build   build bin/varve and bin/varve-agent
# make dist    build binaries, packages, image, SBOMs and checksums into dist/
# make clean   remove what was built

GO       ?= go
FUZZTIME ?= 30s
SOAKTIME ?= 1h
KILLS    ?= 2000
CUTS     ?= 2000
DAMAGES  ?= 1000
RUNS     ?= 10000
CACHE    ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/varve
LINT     := $(CACHE)/bin/golangci-lint-$(shell sed -n 's|.*github.com/golangci/golangci-lint/v2 v||p' tools/go.mod | cut -d' ' -f1)
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X main.version=$(VERSION)

.PHONY: help run build dist test check soak bench fuzz lint fmt clean need
help:
	@sed -n '1,10s/^# //p' Makefile

run: build
	@exec bin/varve serve

build:
	@[ -d "$$($(GO) env GOMODCACHE)/github.com/cockroachdb" ] || echo "Fetching and compiling the dependencies; this is done once."
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -buildvcs=auto -o bin/varve ./cmd/varve
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -buildvcs=auto -o bin/varve-agent ./cmd/varve-agent

# See docs/releasing.md. PLATFORMS limits the platforms, as in PLATFORMS=linux/amd64,linux/arm/7.
dist:
	@$(GO) run -C tools/dist . -root ../.. $(if $(PLATFORMS),-platforms $(PLATFORMS))

# Tests run the program as it is shipped, so it is built first. Go's cache does not know the
# sources of that program, so results of tests that run it are never reused.
INNER = $$($(GO) list ./... | grep -v /tests/)
# With the race detector, these tests run only a part of their cases (see internal/randomtest). They run a second
# time without it, and then in full.
FULL = ^Test(Accept|Archive_|AsOf|Changes_Are|Crash_Keeps|Damage_Model|Erase|Expire_Keeps|Faults_Keep|File_Holds|List_Scales|Merge|Open_Refuses|Partial_Round|Postponed_Matches|PowerCut|Query_WithArchives|Reader|ReadSeries_Returns|Rebuild_Never|Resent_Never|Rollups|Rotator_Loses|SharedReads|Simulate_Matches|Sketch_Ignores|Store_Agrees|Tally_Counts)
FULL_PACKAGES = ./agent/outbox ./archive ./archive/parquetfile ./changes ./devices ./engine ./reconcile ./rollup ./rotator ./store/dynamo ./store/local
test: need fmt lint build
	$(GO) vet -stdmethods=false ./... # stdmethods is off, because the method Seek of Prometheus' iterators differs from io.Seeker's
	$(GO) test -race -timeout 40m $(INNER)
	$(GO) test -timeout 40m -run '$(FULL)' $(FULL_PACKAGES)
	$(GO) test -race -timeout 40m -count=1 ./tests/...
	@tests/doors/run.sh
	@cd console/generate && $(GO) vet ./... && $(GO) test -count=1 ./... # -count=1, because Go's test cache ignores files outside of the module
	@$(GO) test -C tools/dist ./...
	@tests/console/run.sh
	@tests/terraform/run.sh

check: need fmt lint build
	$(GO) vet -stdmethods=false ./... # stdmethods is off, because the method Seek of Prometheus' iterators differs from io.Seeker's
	$(GO) test -short -timeout 10m $(INNER)
	$(GO) test -short -timeout 10m -count=1 ./tests/...
	@tests/doors/run.sh -short
	@cd console/generate && $(GO) vet ./... && $(GO) test -count=1 ./... # -count=1, because Go's test cache ignores files outside of the module
	@$(GO) test -C tools/dist ./...
	@tests/console/run.sh -short
	@tests/terraform/run.sh -short

# Each test ends after SOAKTIME, even before its last kill, cut, damage or random sequence, and logs how many
# were done. Two kinds have no such limit: the tests that cut the power at every sync take seconds, and the
# comparison with the model takes about half an hour.
SOAK = $(GO) test -count=1 -v -timeout 0
soak: need
	@$(SOAK) ./tests/crash -run '^TestKill_KeepsAcknowledgedReadings$$' -kills $(KILLS) -within $(SOAKTIME)
	@$(SOAK) ./tests/crash -run '^TestManyProcesses_AgreeOnReadings$$' -kills $$(($(KILLS) / 20)) -within $(SOAKTIME)
	@$(SOAK) ./tests/crash -run '^TestKill_DeliversEveryAlert$$' -kills $$(($(KILLS) / 10)) -within $(SOAKTIME)
	@cd tests/doors && ./tools.sh && VARVE_KILLS=$$(($(KILLS) / 2)) VARVE_BROKER_KILLS=$$(($(KILLS) / 20)) VARVE_WITHIN=$(SOAKTIME) $(SOAK) -parallel 12 . -run '^TestKills_LoseNoMessage$$'
	@$(SOAK) ./tests/agent -run '^TestKills_LoseNoReading$$' -kills $(KILLS) -within $(SOAKTIME)
	@$(SOAK) ./store/local -run '^TestCrash_KeepsItems$$' -cuts $(CUTS) -within $(SOAKTIME)
	@$(SOAK) ./store/local -run '^Test(Open|Rebuild|Erase)_SurvivesPowerCuts$$'
	@$(SOAK) ./store/local -run '^TestDamage_Model$$' -damages $(DAMAGES) -within $(SOAKTIME)
	@$(SOAK) ./store/local -run '^TestStore_AgreesWithModel$$' -rapid.checks $$((($(RUNS) + 9) / 10))
	@$(SOAK) ./tests/damage -run '^TestDamage_IsContainedFoundAndRepaired$$' -damages $(DAMAGES) -within $(SOAKTIME)
	@$(SOAK) ./archive -run '^Test(Archive_NeverPermitsDropWithoutCopy|Merge_LosesNoReading)' -rapid.checks $(RUNS) -within $(SOAKTIME)
	@$(SOAK) ./changes -run '^TestChanges_AreTheWhole' -changes.runs $$((($(RUNS) + 99) / 100)) -within $(SOAKTIME) # each run has 100 sequences

bench: build
	@CGO_ENABLED=0 $(GO) build -trimpath -o bin/bench ./tests/bench
	@bin/bench

fuzz:
	@tests/fuzz.sh $(FUZZTIME)

fmt:
	@out="$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))"; \
	[ -z "$$out" ] || { echo "gofmt would change:"; echo "$$out"; exit 1; }

lint: $(LINT)
	@$(LINT) run ./...
	@cd tests/doors && $(LINT) run ./...
	@cd tests/console && $(LINT) run ./...
	@cd console/generate && $(LINT) run ./...
	@cd tools/dist && $(LINT) run ./...
	@cd tests/terraform && $(LINT) run ./... && cd provider && $(LINT) run ./...

$(LINT): tools/go.mod tools/go.sum
	@echo "Building the linter into $(CACHE); this is done once, and takes a few minutes."
	@mkdir -p $(CACHE)/bin
	@$(GO) build -C tools -o $(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $(LINT)

need:
	@tests/need.sh

clean:
	rm -rf bin dist
