package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// TestProof: what reserves in a transaction of the application changes nothing where
// none is open, by each engine's own means. What is not proven is no reservation.
func TestProof(t *testing.T) {
	for _, c := range []struct {
		d    *dialect.Dialect
		ours bool
		want string // what is sent, but for the reading of the row
	}{
		{dialect.MariaDB(), false, "UPDATE keyfill_sequences\nSET next_value = ?, updated_at = UTC_TIMESTAMP(6)\nWHERE name = ? AND next_value = ? AND incarnation = ? AND @@in_transaction = 1"},
		{dialect.MariaDB(), true, "UPDATE keyfill_sequences\nSET next_value = ?, updated_at = UTC_TIMESTAMP(6)\nWHERE name = ? AND next_value = ? AND incarnation = ? AND @@in_transaction = 1"},
		{dialect.MySQL(), false, "UPDATE keyfill_sequences\nSET next_value = ?, updated_at = UTC_TIMESTAMP(6)\nWHERE name = ? AND next_value = ? AND incarnation = ?"},
		{dialect.PostgreSQL(), false, "SELECT set_config('keyfill.tx', '1', true); UPDATE keyfill_sequences\nSET next_value = next_value + $1, updated_at = clock_timestamp()\nWHERE name = $2 AND next_value BETWEEN $3 AND $4 AND current_setting('keyfill.tx', true) = '1'\nRETURNING next_value, incarnation, ''"},
		{dialect.PostgreSQL(), true, "UPDATE keyfill_sequences\nSET next_value = next_value + $1, updated_at = clock_timestamp()\nWHERE name = $2 AND next_value BETWEEN $3 AND $4\nRETURNING next_value, incarnation, ''"},
		{dialect.SQLite(), false, "BEGIN; UPDATE keyfill_sequences\nSET next_value = next_value + ?, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')\nWHERE name = ? AND next_value BETWEEN ? AND ?\nRETURNING next_value, incarnation, ''"},
		{dialect.SQLServer(), true, "IF @@TRANCOUNT > 0 OR @@OPTIONS & 2 = 2\nUPDATE keyfill_sequences WITH (ROWLOCK, READCOMMITTEDLOCK)\nSET next_value = next_value + @p1, updated_at = SYSUTCDATETIME()\nOUTPUT inserted.next_value, inserted.incarnation, ''\nWHERE name = @p2 AND next_value BETWEEN @p3 AND @p4"},
		{dialect.Oracle(), false, "UPDATE keyfill_sequences\nSET next_value = next_value + :1, server = SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME'), updated_at = SYSTIMESTAMP\nWHERE name = :2 AND next_value BETWEEN :3 AND :4\nRETURNING next_value, incarnation, server INTO :5, :6, :7"},
	} {
		// MySQL has no such condition; on Oracle the UPDATE opens a transaction itself.
		proves := c.d.Name != "mysql" && c.d.Name != "oracle" && !(c.d.Name == "postgres" && c.ours)
		for _, open := range []bool{true, false} {
			f := &fakedb.DB{}
			row := func(values ...driver.Value) fakedb.Reply { return fakedb.Reply{Rows: [][]driver.Value{values}} }
			var sent []string
			f.Answer = func(query string) fakedb.Reply {
				if !strings.HasPrefix(query, "SELECT next_value") && !strings.HasPrefix(query, "SELECT TO_CHAR(next_value)") {
					sent = append(sent, query)
				}
				switch {
				case query == "BEGIN" && open:
					return fakedb.Reply{Err: errors.New("cannot start a transaction within a transaction")}
				case strings.HasPrefix(query, "SELECT next_value"), strings.HasPrefix(query, "SELECT TO_CHAR(next_value)"):
					return row(int64(5), "i", "", "t", "id", "")
				case strings.Contains(query, "UPDATE") && (open || !proves):
					return fakedb.Reply{Affected: 1, Rows: row(int64(6), "i", "").Rows, Out: []any{int64(6), "i", ""}}
				case strings.Contains(query, "set_config"):
					return row("1")
				}
				return fakedb.Reply{}
			}
			st := store.Joined(c.d, fakedb.FullOf(f), &store.Ongoing{Ours: c.ours})
			got, err := sequence.Reserve(context.Background(), st, sequence.Sequence{Name: "s", Columns: []store.Column{{Table: "t", Name: "id"}}}, 1, 0)
			if text := strings.Join(sent, "; "); (open || c.d.Name == "oracle") && text != c.want {
				t.Errorf("%s, %v: sent %q, want %q", c.d.Name, c.ours, text, c.want)
			}
			switch {
			case (open || !proves) && (err != nil || got.First != 5):
				t.Errorf("%s, %v: %d, %v", c.d.Name, c.ours, got.First, err)
			case !open && proves && !errors.Is(err, store.ErrEnded):
				t.Errorf("%s, %v: %v, want %v", c.d.Name, c.ours, err, store.ErrEnded)
			}
		}
	}
}
