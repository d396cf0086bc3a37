package keys_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// plainLines is a log handler that quotes nothing: a line is what keyfill has put
// into it.
type plainLines struct {
	mu    *sync.Mutex
	lines *[]string
}

func (plainLines) Enabled(context.Context, slog.Level) bool { return true }
func (h plainLines) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h plainLines) WithGroup(string) slog.Handler          { return h }

func (h plainLines) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.lines = append(*h.lines, line)
	return nil
}

// TestStatesByValueQuoted: a value with a line break and an escape character, which a
// terminal or a log would obey, has a numbering of its own, and stands in errors and
// in the log as Go writes strings, in the statement that an error advises too.
func TestStatesByValueQuoted(t *testing.T) {
	t.Parallel()
	const tenant = "a\nb\x1b[31m"
	harness.Each(t, harness.ReserveEngines, func(t *testing.T, s *harness.Scratch) {
		log := plainLines{new(sync.Mutex), new([]string)}
		logger := slog.New(log)
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		o := keyfill.Options{Logger: logger, Policy: harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Start: 1, Exclusive: true, Name: "{table}.{value:tenant}",
		}})}
		ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
		db, _ := s.OpenWith(t, o)
		if _, err := db.ExecContext(ctx, harness.InsertT); err != nil {
			t.Fatal(err)
		}
		if got := harness.Text(t, s.Raw, "SELECT name FROM keyfill_sequences WHERE parameters <> 'binding'"); got != "t."+tenant {
			t.Errorf("the state is called %q", got)
		}
		harness.Exec(t, s.Raw, "INSERT INTO t (id) VALUES (2)")
		if _, err := db.ExecContext(ctx, harness.InsertT); err == nil {
			t.Error("the key 2 is stored twice")
		}
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = -5 WHERE parameters <> 'binding'")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, _ = s.OpenWith(t, o)
		_, err := db.ExecContext(ctx, harness.InsertT)
		if err == nil {
			t.Fatal("it was filled")
		}
		logger.Error("the application's own line", "error", err)
		if strings.Count(err.Error(), `a\nb\x1b[31m`) != 2 || !strings.Contains(err.Error(), `run "UPDATE keyfill_sequences`) {
			t.Errorf("the name and the statement are not both quoted: %q", err)
		}
		lines := *log.lines
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "source suspect") }) {
			t.Errorf("keyfill has logged nothing of the duplicate: %q", lines)
		}
		for _, line := range lines {
			if strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("a line breaks, or is obeyed: %q", line)
			}
		}
	})
}
