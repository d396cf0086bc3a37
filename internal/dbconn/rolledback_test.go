package dbconn_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/dbconn"
)

type stated string

func (s stated) Error() string    { return "stated" }
func (s stated) SQLState() string { return string(s) }

type numbered int32

func (n numbered) Error() string         { return "numbered" }
func (n numbered) SQLErrorNumber() int32 { return int32(n) }

// TestRolledBack: SQLSTATE and numbers tell, texts do not. The errors of MySQL's
// and Oracle's drivers are in e2e.
func TestRolledBack(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("Error 1213 (40001): Deadlock found"), false},
		{stated("40001"), true},
		{fmt.Errorf("wrapped: %w", stated("40P01")), true},
		{stated("23505"), false},
		{numbered(1205), true},
		{fmt.Errorf("wrapped: %w", numbered(3960)), true},
		{numbered(2627), false},
	} {
		if got := dbconn.RolledBack(c.err); got != c.want {
			t.Errorf("RolledBack(%v) = %t", c.err, got)
		}
	}
}
