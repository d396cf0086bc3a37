package counter_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

func TestSequenceOptions(t *testing.T) {
	s := policy.Source{Block: 1, MinBlock: 2, MaxBlock: 3, OnBehind: "warn", OnStoreRollback: "advance"}
	got := counter.SequenceOptions(s)
	if got.Block != 1 || got.MinBlock != 2 || got.MaxBlock != 3 || got.OnBehind != keysource.RemedyWarn ||
		got.OnStoreRollback != keysource.RemedyAdvance || got.Reserver != nil || got.Max != 0 || got.MaxKey != nil {
		t.Errorf("SequenceOptions of %+v = %+v", s, got)
	}
}
