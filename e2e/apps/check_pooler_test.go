package apps_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/testdb"
)

// behindPooler returns the DSN of a database through pgbouncer in transaction mode, by
// an engine's driver and its mode.
func behindPooler(t *testing.T, s *harness.Scratch, pooler *testdb.Server, mode harness.Engine) string {
	t.Helper()
	dsn := pooler.DSN(harness.DatabaseOf(t, s))
	if mode.Params != "" {
		dsn += "&" + mode.Params
	}
	return dsn
}

const poolerPolicy = "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n"

// TestPooler: pgbouncer in transaction mode is found, by the application's DSN and by the
// DSN of a store, and a mode of the driver that loses statements there is an error until
// the DSN has another mode. The modes are the ones of docs/pool.md.
func TestPooler(t *testing.T) {
	s := harness.PgxDefault.Scratch(t)
	executeAll(t, s, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	pooler := testdb.Start(t, testdb.PgBouncer(harness.PostgreSQL, "transaction", 4))
	for _, m := range []struct {
		mode     harness.Engine
		severity string
	}{
		{harness.PQDefault, check.Error},
		{harness.PQBinary, check.Info},
		{harness.PgxDefault, check.Error},
		{harness.PgxMode("cache_describe"), check.Info},
		{harness.PgxMode("describe_exec"), check.Error},
		{harness.PgxMode("exec"), check.Info},
		{harness.PgxSimple, check.Info},
	} {
		t.Run(m.mode.Name, func(t *testing.T) {
			direct := harness.ConnectorOf(t, m.mode.Driver, s.Server.DSN(harness.DatabaseOf(t, s))+"&"+m.mode.Params)
			if found, _ := lookWith(t, s, poolerPolicy, check.Options{Connector: direct}); len(ruled(found, "proxy")) != 0 {
				t.Errorf("without a pooler: %+v", found)
			}
			dsn := behindPooler(t, s, pooler, m.mode)
			found, _ := lookWith(t, s, poolerPolicy, check.Options{Connector: harness.ConnectorOf(t, m.mode.Driver, dsn)})
			if got := ruled(found, "proxy"); len(got) != 1 || got[0].Severity != m.severity || got[0].Line != 0 {
				t.Errorf("%+v, want one of severity %s", found, m.severity)
			}
			t.Setenv("STORE_DSN", dsn)
			text := fmt.Sprintf("  orders: {column: id, source: {kind: sequence, ensure_schema: true, store: far, start: 1}}\nstores:\n  far: {driver: %s, dsn_env: STORE_DSN}\n", m.mode.Driver)
			found, _ = look(t, s, text)
			if got := ruled(found, "proxy"); len(got) != 1 || got[0].Severity != m.severity || got[0].Line != 5 {
				t.Errorf("a store: %+v, want one of severity %s", found, m.severity)
			}
		})
	}
}

// TestPoolerOfOne: a pooler all of whose connections are held is not waited for in vain.
func TestPoolerOfOne(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	executeAll(t, s, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	pooler := testdb.Start(t, testdb.PgBouncer(harness.PostgreSQL, "transaction", 1))
	dsn := behindPooler(t, s, pooler, harness.PgxMode("exec"))
	harness.Eventually(t, func() error { // a busy machine may not answer in time before that
		found, _ := lookWith(t, s, poolerPolicy, check.Options{Connector: harness.ConnectorOf(t, "pgx", dsn), PoolerPatience: 3 * time.Second})
		if got := ruled(found, "proxy"); len(got) != 1 {
			return fmt.Errorf("%+v", found)
		}
		return nil
	})
}
