package stores_test

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// engines are two servers and SQLite.
var engines = []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.SQLiteFile}

// line is one line of a log.
type line struct {
	level slog.Level
	text  string
	attrs map[string]string
}

// lines is a log that a test can look at while it is written.
type lines struct {
	mu  sync.Mutex
	all []line
}

func (*lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *lines) WithGroup(string) slog.Handler          { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	one := line{r.Level, r.Message, map[string]string{}}
	r.Attrs(func(a slog.Attr) bool { one.attrs[a.Key] = a.Value.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
	return nil
}

func (l *lines) logger() *slog.Logger { return slog.New(l) }

// of returns the lines of a message so far.
func (l *lines) of(text string) []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []line
	for _, one := range l.all {
		if one.text == "keyfill: "+text {
			found = append(found, one)
		}
	}
	return found
}

// awaitSeen does something until a message is in the log, and returns its first line.
func (l *lines) await(t *testing.T, text string, do func()) line {
	t.Helper()
	return l.awaitAfter(t, text, 0, do)
}

// awaitAfter is await for the line that follows so many lines of the message.
func (l *lines) awaitAfter(t *testing.T, text string, had int, do func()) line {
	t.Helper()
	for began := time.Now(); time.Since(began) < harness.Limit; time.Sleep(10 * time.Millisecond) {
		if found := l.of(text); len(found) > had {
			return found[had]
		}
		do()
	}
	t.Fatalf("%q is not logged: %v", text, l.texts())
	return line{}
}

// endsIn reports whether the last line about a store that is down or back is of a message.
func (l *lines) endsIn(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := ""
	for _, one := range l.all {
		if strings.HasPrefix(one.text, "keyfill: store ") {
			last = one.text
		}
	}
	return last == "keyfill: "+text
}

// texts returns the whole log.
func (l *lines) texts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, one := range l.all {
		b.WriteString(one.String() + "\n")
	}
	return b.String()
}

func (l line) String() string {
	var b strings.Builder
	b.WriteString(l.level.String() + " " + l.text)
	for name, value := range l.attrs {
		b.WriteString(" " + name + "=" + value)
	}
	return b.String()
}

// has checks a line's level and attributes: all of its names, and these values.
func (l line) has(t *testing.T, level slog.Level, names string, values map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range l.attrs {
		if values[name] != "" {
			got[name] = l.attrs[name]
		}
	}
	all := strings.Fields(names)
	for _, name := range all {
		if _, ok := l.attrs[name]; !ok {
			t.Errorf("%s has no %s", l, name)
		}
	}
	if l.level != level || len(l.attrs) != len(all) || !maps.Equal(got, values) {
		t.Errorf("the line is %s, want the level %s, the attributes %s, and of these %v", l, level, names, values)
	}
}
