package keyfillpgx_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestSessionRead: a read of the session's last number after a filled INSERT is an error
// without database/sql, too. A text in a batch or a COPY may draw a number.
func TestSessionRead(t *testing.T) {
	source := sequence()
	source.Exclusive = true
	p := open(t, keyed(source), "CREATE TABLE t (id BIGSERIAL PRIMARY KEY, a INT); CREATE TABLE other (id BIGSERIAL PRIMARY KEY, a INT)")
	ctx := t.Context()
	for _, c := range []struct {
		name  string
		after func(tx pgx.Tx) error // the INSERT
		fails bool
	}{
		{"alone", func(pgx.Tx) error { return nil }, true},
		{"batch", func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			b.Queue("SELECT nextval('other_id_seq')")
			return tx.SendBatch(ctx, b).Close()
		}, false},
		{"copy", func(tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"other"}, []string{"a"}, pgx.CopyFromRows([][]any{{1}}))
			return err
		}, false},
		{"prepared", func(tx pgx.Tx) error {
			if _, err := tx.Prepare(ctx, "draw", "SELECT nextval('other_id_seq')"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "draw")
			return err
		}, false},
	} {
		tx, err := p.filled.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, tx, "INSERT INTO other (a) VALUES (0)")
		exec(t, tx, "INSERT INTO t (a) VALUES (1)")
		if err := c.after(tx); err != nil {
			t.Fatal(err)
		}
		var n int64
		err = tx.QueryRow(ctx, "SELECT lastval()").Scan(&n)
		if _, own := keyfillError(err); own != c.fails || !own && err != nil {
			t.Errorf("%s: error %v, want keyfill's: %v", c.name, err, c.fails)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Error(err)
		}
	}
}
