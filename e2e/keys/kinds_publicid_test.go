package keys_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/publicid"
	"github.com/keyfill/keyfill/rewrite"
)

// Types of ids, by what their columns hold.
type (
	inText   struct{}
	inUUID   struct{}
	inBinary struct{}
)

func (inText) Prefix() string           { return "cus" }
func (inUUID) Prefix() string           { return "cus" }
func (inUUID) Layout() dialect.Layout   { return dialect.SequentialAsString }
func (inBinary) Prefix() string         { return "cus" }
func (inBinary) Layout() dialect.Layout { return dialect.SequentialAsBinary }

// TestQuotedKey: a UUID in double quotes, as xorm sends a [16]byte type, is refused as a key
// by executed and prepared statements; with the plain driver SQLite stores the quotes.
func TestQuotedKey(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+harness.ColumnTypes("uuid", "CHAR(38)", "TEXT")[s.Dialect.Name]+" PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}}))
		for _, key := range []any{`"0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071"`, []byte(`"0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071"`)} {
			_, err := db.Exec(s.Placeholders("INSERT INTO t (id, a) VALUES (?, ?)"), key, 1)
			harness.RefusedFor(t, "executed", err, rewrite.ErrQuotedKey)
			_, err = harness.PreparedExec(db, s.Placeholders("INSERT INTO t (a, id) VALUES (?, ?)"), 1, key)
			harness.RefusedFor(t, "prepared", err, rewrite.ErrQuotedKey)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 0 {
			t.Errorf("%d rows are stored", n)
		}
	})
}

// TestPublicID: ids with a prefix go through each driver into columns of text, of UUIDs and
// of bytes, and back; and where keyfill fills, the zero ID counts as no key.
func TestPublicID(t *testing.T) {
	t.Parallel()
	engines := []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.PQBinary}
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		binary := harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")[s.Dialect.Name]
		native := harness.ColumnTypes("uuid", "UUID", "TEXT")[s.Dialect.Name]
		harness.Exec(t, s.Raw, "CREATE TABLE p (t VARCHAR(90), u "+native+", b "+binary+", no "+native+")")
		u := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
		text, key, bytes := publicid.FromUUID[inText](u), publicid.FromUUID[inUUID](u), publicid.FromUUID[inBinary](u)
		harness.Exec(t, s.Raw, s.Placeholders("INSERT INTO p (t, u, b, no) VALUES (?, ?, ?, ?)"), text, key, bytes, sql.Null[publicid.ID[inUUID]]{})
		var gotText publicid.ID[inText]
		var gotKey publicid.ID[inUUID]
		var gotBytes publicid.ID[inBinary]
		var null sql.Null[publicid.ID[inUUID]]
		if err := s.Raw.QueryRow("SELECT t, u, b, no FROM p").Scan(&gotText, &gotKey, &gotBytes, &null); err != nil || gotText != text || gotKey != key || gotBytes != bytes || null.Valid {
			t.Errorf("read are %v, %v, %v and %v, error %v", gotText, gotKey, gotBytes, null, err)
		}
		if n := harness.Count(t, s.Raw, s.Placeholders("SELECT COUNT(*) FROM p WHERE t = ? AND u = ? AND b = ?"), text, key, bytes); n != 1 {
			t.Errorf("%d rows are found by their ids, want 1", n)
		}
		if got := harness.Text(t, s.Raw, "SELECT t FROM p"); got != "cus_01h455vb4pex5vsknk084sn02q" {
			t.Errorf("the column of text has %q", got)
		}

		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+native+" NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv7}}))
		ctx, rec := keyfill.Record(context.Background())
		if _, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO t (id, a) VALUES (?, ?)"), publicid.ID[inUUID]{}, 1); err != nil {
			t.Fatal(err)
		}
		filled, ok := keyfill.Last[publicid.ID[inUUID]](rec, "t")
		var stored publicid.ID[inUUID]
		if err := db.QueryRow("SELECT id FROM t").Scan(&stored); err != nil || !ok || stored != filled || filled.UUID().Version() != 7 {
			t.Errorf("the zero ID is stored as %v, error %v, and filled was %v, %t", stored, err, filled, ok)
		}
	})
}
