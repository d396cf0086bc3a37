package harness

import (
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// ByTurns returns some of the engines of a test that goes by turns: one that is in
// process, and one of a server, chosen by its dialect first and then by its driver and
// the server's version. Otherwise it returns all: see package testturn.
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

// InVersions adds to each engine on PostgreSQL the same one on version 18, if that is
// installed.
func InVersions(engines []Engine) (all []Engine) {
	for _, e := range engines {
		all = append(all, e)
		if e.Server == PostgreSQL && PostgreSQL18.Installed() {
			e.Name, e.Server = e.Name+"-18", PostgreSQL18
			all = append(all, e)
		}
	}
	return all
}

func namesOf(engines []Engine) (names []string) {
	for _, e := range engines {
		names = append(names, e.Name)
	}
	return names
}
