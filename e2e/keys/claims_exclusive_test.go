package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreWipedExclusive is TestPlainStoreWiped and TestStoreWiped for a source with
// exclusive: true, in a database that has no table of keyfill's before.
func TestStoreWipedExclusive(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
				in := func(driver, dsn string, start int64) *policy.Config {
					cfg := inPlain(s.Engine, driver, kind, func(s *policy.Source) { s.Start, s.Exclusive = start, true })
					cfg.Stores = map[string]policy.Store{"central": {Driver: driver, DSN: dsn}}
					return cfg
				}
				t.Run("plain", func(t *testing.T) {
					s := s.Engine.Scratch(t)
					first, _ := harness.RegisterPlain(t)
					second, _ := harness.RegisterPlain(t)
					wiped(t, s, in(first, "memory", 1), in(second, "memory", 1000), false)
				})
				t.Run("SQL", func(t *testing.T) {
					s := s.Engine.Scratch(t)
					wiped(t, s, in(s.Driver, s.DSN(t), 1), in(s.Driver, s.DSN(t), 1000), true)
				})
			})
		})
	}
}
