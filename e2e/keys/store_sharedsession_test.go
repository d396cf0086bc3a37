package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
)

// TestSharedSession: a pooler gives one session to several clients, whose drivers prepare
// statements of the same names. The server says so, and does answer.
func TestSharedSession(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	db := numberedBehind(t, s, 1, time.Second)
	var err error
	for range 3 {
		if _, err = db.Exec("INSERT INTO t (a) VALUES ($1)", 1); err != nil && strings.Contains(err.Error(), "42P05") {
			break
		}
	}
	if !errors.Is(err, keysource.ErrStoreDown) || strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "42P05") {
		t.Errorf("%v, want the server's words", err)
	}
}
