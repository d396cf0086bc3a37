package harness

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// ByTurns returns some of the engines of a test where tests go by turns: one that is in
// process, and one behind a server, whose dialect has its turn first and then its driver.
// Otherwise it returns all: see package testturn.
func ByTurns(t *testing.T, engines []Engine) []Engine {
	t.Helper()
	if !testturn.Enabled() {
		return engines
	}
	var inProcess, servers []Engine
	for _, e := range engines {
		if e.Server == nil {
			inProcess = append(inProcess, e)
		} else {
			servers = append(servers, e)
		}
	}
	var chosen []Engine
	if len(inProcess) > 0 {
		chosen = append(chosen, testturn.One(t, inProcess))
	}
	if len(servers) > 0 {
		var dialects []string
		for _, e := range servers {
			if !slices.Contains(dialects, e.Dialect.Name) {
				dialects = append(dialects, e.Dialect.Name)
			}
		}
		dialect := testturn.One(t, dialects)
		chosen = append(chosen, testturn.One(t, slices.DeleteFunc(servers, func(e Engine) bool { return e.Dialect.Name != dialect })))
	}
	return chosen
}
