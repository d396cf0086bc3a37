package plan

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
)

// nameIndexes chooses the names of the indexes that the plan adds, which no index has yet.
func (s *swap) nameIndexes(ctx context.Context) error {
	taken := map[string]bool{}
	for _, c := range s.columns() {
		if c.root != c {
			continue
		}
		f := c.of
		names, err := s.texts(ctx, f.sql(s.rules.names))
		if err != nil {
			return err
		}
		for _, name := range names {
			taken[strings.ToLower(name)] = true
		}
		for i := 1; ; i++ {
			suffix := "_uuid"
			if i > 1 {
				suffix = fmt.Sprintf("_uuid%d", i)
			}
			if f.index = fitName(s.dialect, c.table.name+"_"+c.column.Name, suffix); !taken[strings.ToLower(f.index)] {
				break
			}
		}
		taken[strings.ToLower(f.index)] = true
	}
	return nil
}

// fitName returns the base with the suffix, the base cut where the name would be longer
// than the engine allows.
func fitName(d *dialect.Dialect, base, suffix string) string {
	rules := engines[d.Family].swap
	if rules == nil || rules.limit == 0 {
		return base + suffix
	}
	length := func(text string) int {
		if rules.runes {
			return utf8.RuneCountInString(text)
		}
		return len(text)
	}
	for length(base)+len(suffix) > rules.limit {
		_, size := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-size]
	}
	return base + suffix
}
