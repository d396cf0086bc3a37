package keyfillpgx_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/policy"
)

// TestSimpleProtocolRefused: keyfill's own statements go through where pgx refuses arguments
// and queries under the simple protocol, and an INSERT without arguments is stored.
func TestSimpleProtocolRefused(t *testing.T) {
	for name, source := range map[string]policy.Source{
		"joined": joined(), "maxplusone": {Kind: policy.KindMaxPlusOne, Lock: policy.LockRange, EnsureSchema: true}, "sequence": sequence(),
	} {
		for setting, value := range map[string]string{"standard_conforming_strings": "off", "client_encoding": "LATIN1"} {
			p := open(t, keyed(source), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)", func(c *pgxpool.Config) {
				c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
				c.ConnConfig.RuntimeParams[setting] = value
			})
			exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
			if err := pgx.BeginFunc(t.Context(), p.filled, func(tx pgx.Tx) error {
				exec(t, tx, "INSERT INTO t (a) VALUES (2), (3)")
				return nil
			}); err != nil {
				t.Errorf("%s, %s: %v", name, setting, err)
			}
			var n int
			if err := p.plain.QueryRow(t.Context(), "SELECT count(DISTINCT id) FROM t", pgx.QueryExecModeExec).Scan(&n); err != nil || n != 3 {
				t.Errorf("%s, %s: %d keys are stored, want 3; error %v", name, setting, n, err)
			}
		}
	}
}
