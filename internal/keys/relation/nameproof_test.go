package relation

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

// answered is an error of PostgreSQL's.
type answered struct{ state, text string }

func (e answered) SQLState() string { return e.state }

func (e answered) Error() string { return e.text }

// TestShowsOther: an error shows that a name has moved if it is the proof's. An error about
// another table of the same schema is the application's own.
func TestShowsOther(t *testing.T) {
	for _, c := range []struct {
		err  answered
		want bool
	}{
		{answered{"22P02", `invalid input syntax for type bigint: "keyfill: t is not a.t"`}, true},
		{answered{"22P02", `invalid input syntax for type bigint: "x"`}, false},
		{answered{"42P01", `relation "a.t" does not exist`}, true},
		{answered{"42P01", `relation "a.missing" does not exist`}, false},
		{answered{"42P01", `relation "t" does not exist`}, false},
		{answered{"3F000", `schema "a" does not exist`}, true},
		{answered{"42501", `permission denied for schema a`}, true},
		{answered{"42501", `permission denied for table t`}, false},
	} {
		if got := ShowsOther(dialect.PostgreSQL(), c.err, "a", "t"); got != c.want {
			t.Errorf("%s: %v, want %v", c.err.text, got, c.want)
		}
	}
}
