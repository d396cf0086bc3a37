package apps_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// TestConnectionLimit: the check finds how many connections a user may have: one is an
// error, since each INSERT fails then, other limits are reported. Sources without a state
// need none.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	const rights = "SELECT, INSERT, UPDATE ON keyfill_sequences"
	harness.Each(t, servers, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)", "CREATE TABLE notes (id CHAR(36) NOT NULL PRIMARY KEY)")...)
		u := newUser(t, s, "SELECT, INSERT ON orders", "SELECT, INSERT ON notes", rights)
		sessions := "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '%s'"
		if s.IsPostgres() {
			sessions = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = '%s'"
		}
		limit := func(n int) {
			if s.IsPostgres() {
				executeAll(t, s, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", u.name, n))
				return
			}
			executeAll(t, s, fmt.Sprintf("ALTER USER %s WITH MAX_USER_CONNECTIONS %d", u.name, max(n, 0)))
		}
		want := func(policy, severity, part string) {
			t.Helper()
			// The sessions of the check before end after their connections.
			for harness.Count(t, s.Raw, fmt.Sprintf(sessions, strings.TrimSuffix(u.name, "@'%'"))) > 0 {
				time.Sleep(time.Millisecond)
			}
			found, _ := lookWith(t, s, policy, u.at)
			if n := len(ruled(found, "not-looked")); n > 0 {
				t.Errorf("%+v, want that all is looked at", found)
			}
			got := ruled(found, "connection-limit")
			if severity == "" && len(got) == 0 {
				return
			}
			if len(got) != 1 || got[0].Severity != severity || !strings.Contains(got[0].Message, part) {
				t.Errorf("%+v, want %q %q", found, severity, part)
			}
		}
		want(sequencePolicy, "", "")
		limit(7)
		want(sequencePolicy, check.Info, "may have 7 connections")
		limit(1)
		want(sequencePolicy, check.Error, "one connection at a time")
		want("  notes: {column: id, source: uuidv7}\n", "", "")
		// It has no state, and its first INSERT asks for the greatest key.
		want("  orders: {column: id, source: {kind: snowflake, worker: 3, store: none}}\n", check.Error, "one connection at a time")
		limit(-1)
		want(sequencePolicy, "", "")
		if s.IsPostgres() {
			executeAll(t, s, "ALTER DATABASE "+harness.DatabaseOf(t, s)+" CONNECTION LIMIT 9")
			want(sequencePolicy, check.Info, "may have 9 connections")
			executeAll(t, s, "REVOKE SELECT ON pg_catalog.pg_roles FROM PUBLIC") // as servers of many tenants do
			found, _ := lookWith(t, s, sequencePolicy, u.at)
			if got := ruled(found, "not-looked"); len(got) != 1 || got[0].Severity != check.Info {
				t.Errorf("%+v, want a note that the limit is not known", found)
			}
		}
	})
}
