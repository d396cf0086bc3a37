package trial_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/trial"
)

// TestWords: an INSERT with an unknown word in a clause is wrong where it is filled, unless
// the parser takes it.
func TestWords(t *testing.T) {
	const insert = "INSERT INTO t (a) VALUES (1)"
	for _, d := range []string{"mysql", "sqlite", "sqlserver", "oracle"} {
		c, err := trial.New(d, trial.UUIDs)
		if err != nil {
			t.Fatal(err)
		}
		w := c.TryWords("SELECT 1; " + insert)
		if w.Inserts != 1 || w.Places == 0 || w.Texts < w.Places || len(w.Wrong) > 0 {
			t.Errorf("%s: %+v", d, w)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	c, err := trial.NewWith("mysql", func(query string) (explain.Explanation, error) {
		return explain.Explanation{Action: "fill", SQL: query}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := c.TryWords(insert)
	if len(w.Wrong) == 0 || len(w.Wrong)+w.Filled != w.Texts || !strings.Contains(w.Wrong[0], "kfnew") {
		t.Errorf("of one that fills all: %+v", w)
	}
}
