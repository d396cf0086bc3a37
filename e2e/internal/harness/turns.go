package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// ByTurns returns the engines of a test that have their turn: one that is in process, and
// one with a server, chosen by its dialect first and then by its driver and the server's
// version. If tests do not go by turns (see package testturn), it returns all.
func ByTurns(t *testing.T, engines []Engine) []Engine {
	t.Helper()
	engines = InVersions(engines)
	var inProcess []Engine
	var dialects []string
	servers := map[string][]Engine{}
	for _, e := range engines {
		if e.Server == nil {
			inProcess = append(inProcess, e)
			continue
		}
		name := e.Dialect.Name
		if servers[name] == nil {
			dialects = append(dialects, name)
		}
		servers[name] = append(servers[name], e)
	}
	var chosen []Engine
	if len(inProcess) > 0 {
		_, place := testturn.Nested(t, [][]string{namesOf(inProcess)})
		chosen = append(chosen, inProcess[place])
	}
	if len(dialects) > 0 {
		var names [][]string
		for _, dialect := range dialects {
			names = append(names, namesOf(servers[dialect]))
		}
		group, place := testturn.Nested(t, names)
		chosen = append(chosen, servers[dialects[group]][place])
	}
	if !testturn.Enabled(t) {
		return engines
	}
	return chosen
}

// InVersions adds to each engine on PostgreSQL the same engine on version 18, if that is
// installed.
func InVersions(engines []Engine) (all []Engine) {
	for _, e := range engines {
		all = append(all, e)
		if e.Server == PostgreSQL && !e.without18 && PostgreSQL18.Installed() {
			e.Name, e.Server = e.Name+suffix18, PostgreSQL18
			all = append(all, e)
		}
	}
	return all
}

// suffix18 is appended to the names of engines on PostgreSQL 18.
const suffix18 = "-18"

// Is reports whether e and other are the same engine, apart from the version of the server.
func (e Engine) Is(other Engine) bool { return strings.TrimSuffix(e.Name, suffix18) == other.Name }

// Without18 returns engines that do not run on PostgreSQL 18. It is for tests of INSERT …
// SELECT without a function of the server that makes UUIDs: PostgreSQL 18 has such a
// function.
func Without18(engines []Engine) []Engine {
	engines = slices.Clone(engines)
	for i := range engines {
		engines[i].without18 = true
	}
	return engines
}

func namesOf(engines []Engine) (names []string) {
	for _, e := range engines {
		names = append(names, e.Name)
	}
	return names
}
