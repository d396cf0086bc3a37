package keyfill_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/publicid"
)

// recorded inserts one row and returns what was recorded of it.
func recorded[P *policy.Config | keyfill.Options](t *testing.T, p P) *keyfill.Recorder {
	t.Helper()
	db := open(t, &fakeDriver{strength: contexts, exec: affected(1, nil)}, p)
	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, insert, 1, 2); err != nil {
		t.Fatal(err)
	}
	return rec
}

// last asks for the last key as a T, which has to be want.
func last[T comparable](t *testing.T, rec *keyfill.Recorder, want T, suits bool) {
	t.Helper()
	if got, ok := keyfill.Last[T](rec, "t"); ok != suits || got != want {
		t.Errorf("Last[%T] = %v, %v, want %v, %v", want, got, ok, want, suits)
	}
}

type (
	ownUUID   [16]byte
	ownText   string
	ownNumber int64
	ownByte   byte
)

// TestLast: a key is given as every type whose underlying type is its own, a
// UUID also as text, and as nothing else.
// Types of ids: in a column of UUIDs, and of text.
type (
	layoutID struct{}
	textID   struct{}
)

func (layoutID) Prefix() string         { return "t" }
func (layoutID) Layout() dialect.Layout { return dialect.SequentialAsString }
func (textID) Prefix() string           { return "t" }

func TestLast(t *testing.T) {
	t.Run("UUID", func(t *testing.T) {
		rec := recorded(t, config("sqlite"))
		id := rec.Keys("t")[0].Key.(uuid.UUID)
		last(t, rec, id, true)
		last(t, rec, ownUUID(id), true)
		last(t, rec, [16]byte(id), true)
		last(t, rec, id.String(), true)
		last(t, rec, ownText(id.String()), true)
		last[any](t, rec, id, true)
		last(t, rec, publicid.FromUUID[layoutID](id), true)
		last(t, rec, uuid.NullUUID{UUID: id, Valid: true}, true)
		last(t, rec, publicid.ID[textID]{}, false)
		last(t, rec, sql.NullInt64{}, false)
		last(t, rec, [16]ownByte{}, false)
		last(t, rec, [15]byte{}, false)
		last(t, rec, int64(0), false)
		if got, ok := keyfill.Last[[]byte](rec, "t"); ok {
			t.Errorf("Last[[]byte] = %x", got)
		}
	})
	t.Run("text", func(t *testing.T) {
		cfg := config("sqlite")
		cfg.Tables["t*"] = policy.Table{Column: "id", Source: policy.KindULID}
		rec := recorded(t, cfg)
		id := rec.Keys("t")[0].Key.(string)
		last(t, rec, id, true)
		last(t, rec, ownText(id), true)
		last(t, rec, uuid.UUID{}, false)
		last(t, rec, int64(0), false)
	})
	t.Run("integer", func(t *testing.T) {
		rec := recorded(t, sequences("sqlite"))
		last(t, rec, int64(1), true)
		last(t, rec, ownNumber(1), true)
		last(t, rec, sql.NullInt64{Int64: 1, Valid: true}, true)
		last(t, rec, publicid.ID[layoutID]{}, false)
		last(t, rec, "", false)
		last(t, rec, 0, false)
		last(t, rec, float64(0), false)
	})
	t.Run("none", func(t *testing.T) {
		_, rec := keyfill.Record(context.Background())
		last(t, rec, uuid.UUID{}, false)
	})
}
