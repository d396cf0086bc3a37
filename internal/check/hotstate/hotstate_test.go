package hotstate_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check/hotstate"
	"github.com/keyfill/keyfill/policy"
)

// TestAdd: a state is near its limit from half of it on, by the sum of its columns, and is
// told once.
func TestAdd(t *testing.T) {
	const limit = 1000
	block := func(n int64) policy.Source { return policy.Source{Kind: policy.KindSequence, Block: n} }
	for _, tt := range []struct {
		name   string
		uses   []hotstate.Use
		near   int // the use with the message; -1: none
		remedy string
	}{
		{"half of the limit", []hotstate.Use{{Source: block(1), PerSecond: 500, Limit: limit}}, 0, "block: 10 "},
		{"below it", []hotstate.Use{{Source: block(1), PerSecond: 499, Limit: limit}}, -1, ""},
		{"blocks", []hotstate.Use{{Source: block(100), PerSecond: 49_900, Limit: limit}}, -1, ""},
		{"blocks that are too small", []hotstate.Use{{Source: block(100), PerSecond: 60_000, Limit: limit}}, 0, "block: 1000 "},
		{"a block that follows the use", []hotstate.Use{{Source: block(0), PerSecond: 1e6, Limit: limit}}, -1, ""},
		{"joined", []hotstate.Use{{Source: block(0), Joined: true, PerSecond: 600, Limit: limit}}, 0, "transaction: joined"},
		{"two columns of a state", []hotstate.Use{{State: "a", Source: block(1), PerSecond: 300, Limit: limit}, {State: "a", Source: block(1), PerSecond: 300, Limit: limit}, {State: "a", Source: block(1), PerSecond: 300, Limit: limit}}, 1, "block: 10 "},
		{"two states", []hotstate.Use{{State: "a", Source: block(1), PerSecond: 300, Limit: limit}, {State: "b", Source: block(1), PerSecond: 300, Limit: limit}}, -1, ""},
		{"no limit", []hotstate.Use{{Source: block(1), PerSecond: 1e6}}, -1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s hotstate.States
			for i, u := range tt.uses {
				message, remedy := s.Add(u)
				if (message != "") != (i == tt.near) || !strings.Contains(remedy, tt.remedy) && i == tt.near {
					t.Errorf("use %d: %q, remedy %q", i, message, remedy)
				}
			}
		})
	}
}

// TestLimitOf: each store with one row for a state has a limit, and SQLite, on which one
// session writes at a time, has none.
func TestLimitOf(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL()} {
		if hotstate.LimitOf(d, "") == 0 {
			t.Errorf("%s has no limit", d.Name)
		}
	}
	for _, driver := range []string{"etcd", "redis"} {
		if hotstate.LimitOf(nil, driver) == 0 {
			t.Errorf("%s has no limit", driver)
		}
	}
	if got := hotstate.LimitOf(dialect.SQLite(), ""); got != 0 {
		t.Errorf("SQLite has the limit %v", got)
	}
}
