package keyfill

import (
	"context"
	"log/slog"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// suspect looks whether a statement has failed because a key that we have made
// was in the table already. Then what is reserved is given up, since more of it
// may be in use: somebody else fills the column, or the store went back.
func (x *execution) suspect(ctx context.Context, err error) {
	if !engineAnswered(err) {
		return
	}
	text := err.Error()
	for i, d := range x.plan.Draws {
		t := tableOf(&x.plan.Inserts[d.Insert])
		f := t.gate.facts.Load()
		if f == nil || t.keys[d.Key].source != nil || x.holes.Counts[i] == 0 {
			continue
		}
		for _, name := range f.keys[d.Key].unique {
			if isDuplicate(x.plan.Dialect(), text, name) {
				x.guard.mount.dropBlock(ctx, x.guard, t, d.Key)
				break
			}
		}
	}
}

// numbers reports whether the execution has keys that suspect looks for.
func (x *execution) numbers() bool {
	for i, d := range x.plan.Draws {
		if x.holes.Counts[i] > 0 && tableOf(&x.plan.Inserts[d.Insert]).keys[d.Key].source == nil {
			return true
		}
	}
	return false
}

// dropBlock gives up what is reserved for a key column, counts and reports it.
func (m *Mount) dropBlock(ctx context.Context, g *guard, t *table, i int) {
	if k := &t.keys[i]; k.rule.Source.Kind != policy.KindMaxPlusOne || !m.belongs(k) {
		c, err := m.counter(ctx, g, t, i)
		if err != nil {
			return // the database was closed
		}
		c.drop()
	}
	m.counters.suspect(t.Table)
	if m.logger != nil {
		m.logger.LogAttrs(ctx, slog.LevelError, "keyfill: source suspect: a key was in use already",
			slog.String("table", t.Table), slog.String("column", t.keys[i].column))
	}
}

// isDuplicate reports whether an engine's error says that a value was in a
// unique index of the name already. A text that only looks so costs a gap.
func isDuplicate(d *dialect.Dialect, text, name string) bool {
	for _, mark := range d.DuplicateKey {
		before, after, _ := strings.Cut(mark, "%")
		if at := strings.Index(text, before); at >= 0 && endsName(text[at+len(before):], name, after) {
			return true
		}
	}
	return false
}

// endsName reports whether what is in text before the end is the name, or ends
// with a dot and the name.
func endsName(text, name, end string) bool {
	if end != "" {
		var found bool
		if text, _, found = strings.Cut(text, end); !found {
			return false
		}
	}
	return text == name || strings.HasSuffix(text, "."+name)
}
