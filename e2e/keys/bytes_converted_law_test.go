package keys_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// convertedForm is a form of an INSERT into t (id, ref, a), whose keys id and ref have 16
// bytes.
type convertedForm struct {
	text string
	args []any
}

// convertedForms returns the forms that TestBytesConvertedLaw executes: each way to leave a
// key out, in each kind of INSERT, with each clause after it.
func convertedForms() (all []convertedForm) {
	type value struct {
		text string
		arg  []any
	}
	keys := []value{{"", nil}, {"?", []any{nil}}, {"DEFAULT", nil}, {"NULL", nil}, {"?", []any{make([]byte, 16)}}, {"?", []any{""}}, {"x'00000000000000000000000000000000'", nil}}
	tails := []convertedForm{{}, {" ON DUPLICATE KEY UPDATE a = VALUES(a)", nil}, {" ON DUPLICATE KEY UPDATE a = ?", []any{int64(9)}}, {" RETURNING a", nil}}
	add := func(text string, args ...any) {
		all = append(all, convertedForm{text, args})
		if !strings.Contains(text, "ref") && !strings.Contains(text, "DEFAULT, NULL") {
			all = append(all, convertedForm{strings.Replace(text, " t ", " u ", 1), args})
		}
	}
	for _, verb := range []string{"INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO"} {
		for _, key := range keys {
			for _, tail := range tails {
				if verb == "REPLACE INTO" && strings.HasPrefix(tail.text, " ON") {
					continue
				}
				add := func(text string, args ...any) { add(verb+" "+text+tail.text, append(args, tail.args...)...) }
				if key.text == "" {
					add("t (a) VALUES (?)", 1)
					add("t (a) VALUES (?), (?)", 1, 2)
					add("t SET a = ?", 1)
					add("t (a) SELECT ?", 1)
					add("t (a) SELECT ? UNION ALL SELECT ?", 1, 2)
					add("t (a) SELECT b FROM s WHERE b > ?", 1)
					add("t VALUES (DEFAULT, NULL, ?)", 1)
					continue
				}
				add("t (id, a) VALUES ("+key.text+", ?)", append(slices.Clone(key.arg), 1)...)
				add("t (a, ref, id) VALUES (?, "+key.text+", "+key.text+")", append([]any{1}, slices.Concat(key.arg, key.arg)...)...)
				add("t (id, a) VALUES ("+key.text+", ?), (x'41414141414141414141414141414141', ?), ("+key.text+", 3) /* ? */ ", slices.Concat(key.arg, []any{1, 2}, key.arg)...)
				add("t SET a = ?, id = "+key.text, append([]any{1}, key.arg...)...)
				if key.text != "DEFAULT" && verb != "INSERT IGNORE INTO" { // it would store zero for the NULL that is kept
					add("t (id, a) SELECT "+key.text+", ?", append(slices.Clone(key.arg), 1)...)
					add("t (id, a) SELECT "+key.text+", b FROM s WHERE b > ?", append(slices.Clone(key.arg), 1)...)
				}
			}
		}
	}
	return append(all, convertedForm{"INSERT INTO t (a) VALUES (?); INSERT INTO u (a, id) VALUES (?, ?), (?, DEFAULT)", []any{1, 2, nil, 3}},
		convertedForm{"INSERT INTO t (a) VALUES (ROW_COUNT() + ?)", []any{1}})
}

// TestBytesConvertedLaw: whatever the character sets of the session are, keys of 16 bytes
// are stored with the bytes that are recorded, and what can be stored where arguments are
// not converted can be stored. Table u has one key, so that its INSERTs take the fast path
// where no keys are recorded.
//
//deviation:settings | With the client's character set big5, cp932, gb18030, gbk or sjis, a key of 16 bytes stands in the text as x'…' if the driver writes arguments into the text: its escapes could be half of a character. | MySQL, MariaDB with `interpolateParams=true` | `SET NAMES gbk` | `layout: string`
func TestBytesConvertedLaw(t *testing.T) {
	t.Parallel()
	several := harness.MySQLInterp
	several.Params += "&multiStatements=true"
	harness.Each(t, []harness.Engine{harness.MySQLDefault, several}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BINARY(16) PRIMARY KEY, ref BINARY(16), a INT UNIQUE)",
			"CREATE TABLE u (id BINARY(16) PRIMARY KEY, a INT UNIQUE)", "CREATE TABLE s (b INT)", "INSERT INTO s VALUES (1), (2), (3)")
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"t": {Column: "id", Layout: dialect.SequentialAsBinary, Keys: []policy.Key{{Column: "ref", Layout: dialect.SequentialAsBinary}}},
			"u": {Column: "id", Layout: dialect.SequentialAsBinary},
		}})
		for _, set := range testturn.Some(t, convertedSets, 4) {
			c := harness.ConnOf(t, db)
			plain := harness.ConnOf(t, db)
			for i, f := range convertedForms() {
				if !testturn.Of(t, i, 16) {
					continue
				}
				if err := convertedOnce(t, s.Raw, plain, f, true, sendDirect); err != nil {
					continue // the key is kept, and the engine refuses it
				}
				for name, send := range convertedWays {
					for _, records := range []bool{false, true} {
						harness.Must(t, c, "SET NAMES utf8mb4")
						err := convertedOnce(t, s.Raw, c, f, records, func(ctx context.Context, c *sql.Conn, f convertedForm) error { return send(ctx, c, set, f) })
						if err != nil {
							t.Errorf("%s, %s, recorded %v, %q %v: %v", set, name, records, f.text, f.args, err)
						}
					}
				}
			}
			c.Close()
			plain.Close()
		}
	})
}

// convertedSets are texts after which a session may store other bytes than an argument has.
// After SET NAMES gbk and sjis a backslash may be half of a character; strings in UTF-16 have
// two bytes for each digit.
var convertedSets = append([]string{"SET NAMES gbk", "SET NAMES sjis", "SET collation_connection = utf16_bin", "SET NAMES utf8mb4"}, characterSets[:4]...)

// convertedWays are the ways to send an INSERT.
var convertedWays = map[string]func(ctx context.Context, c *sql.Conn, set string, f convertedForm) error{
	"direct": func(ctx context.Context, c *sql.Conn, set string, f convertedForm) error {
		if _, err := c.ExecContext(ctx, set); err != nil {
			return err
		}
		return sendDirect(ctx, c, f)
	},
	"prepared before": func(ctx context.Context, c *sql.Conn, set string, f convertedForm) error {
		return sendPrepared(ctx, c, "DO 0", set, f)
	},
	"prepared after": func(ctx context.Context, c *sql.Conn, set string, f convertedForm) error {
		return sendPrepared(ctx, c, set, "DO 0", f)
	},
	"queried in a transaction": func(ctx context.Context, c *sql.Conn, set string, f convertedForm) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, set); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, f.text, f.args...)
		if err := drained(rows, err); err != nil {
			return err
		}
		return tx.Commit()
	},
}

// drained reads all rows, and returns their error.
func drained(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// sendDirect executes a form without preparing it.
func sendDirect(ctx context.Context, c *sql.Conn, f convertedForm) error {
	_, err := c.ExecContext(ctx, f.text, f.args...)
	return err
}

// sendPrepared prepares the INSERT between two texts, and executes it twice.
func sendPrepared(ctx context.Context, c *sql.Conn, before, after string, f convertedForm) error {
	if _, err := c.ExecContext(ctx, before); err != nil {
		return err
	}
	stmt, err := c.PrepareContext(ctx, f.text)
	if err != nil {
		if strings.Contains(f.text, "; ") {
			return sendDirect(ctx, c, f) // no server prepares several statements
		}
		return err
	}
	defer stmt.Close()
	if _, err := c.ExecContext(ctx, after); err != nil {
		return err
	}
	if _, err := stmt.ExecContext(context.Background(), f.args...); err != nil {
		return err
	}
	for _, table := range []string{"t", "u"} {
		if _, err := c.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	rows, err := stmt.QueryContext(ctx, f.args...)
	return drained(rows, err)
}

// convertedOnce executes a form, and returns an error if it fails, or if the keys in the
// tables are not those that are recorded, or no UUIDs of this moment.
func convertedOnce(t *testing.T, raw *sql.DB, c *sql.Conn, f convertedForm, records bool, send func(context.Context, *sql.Conn, convertedForm) error) error {
	t.Helper()
	harness.Must(t, raw, "DELETE FROM t", "DELETE FROM u")
	ctx, rec := t.Context(), (*keyfill.Recorder)(nil)
	if records {
		ctx, rec = keyfill.Record(ctx)
	}
	before := time.Now().Add(-time.Minute)
	if err := send(ctx, c, f); err != nil {
		return err
	}
	recorded := map[string]bool{}
	if records {
		for _, k := range rec.All() {
			id := k.Key.(uuid.UUID)
			if k.Outcome != keyfill.NotStored {
				recorded[fmt.Sprintf("%s %s %X", k.Table, k.Column, id[:])] = k.Outcome == keyfill.Stored
			}
		}
	}
	for _, stored := range harness.RowsOf(t, raw, "SELECT CONCAT('t id ', HEX(id)) FROM t WHERE id <> 'AAAAAAAAAAAAAAAA' UNION ALL SELECT CONCAT('t ref ', HEX(ref)) FROM t WHERE ref IS NOT NULL UNION ALL SELECT CONCAT('u id ', HEX(id)) FROM u WHERE id <> 'AAAAAAAAAAAAAAAA'") {
		stored = strings.TrimSuffix(strings.TrimPrefix(stored, "[{"), " true}]")
		if _, known := recorded[stored]; records && !known && !strings.Contains(f.text, " FROM s") {
			return fmt.Errorf("stored %s is not recorded: %v", stored, recorded)
		}
		id, err := uuid.Parse(stored[strings.LastIndexByte(stored, ' ')+1:])
		made := time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16))
		if err != nil || id.Version() != 7 || id.Variant() != uuid.RFC4122 || made.Before(before) || made.After(before.Add(time.Hour)) {
			return fmt.Errorf("%s is no UUID of version 7 of now", stored)
		}
		delete(recorded, stored)
	}
	for key, certain := range recorded {
		if certain {
			return fmt.Errorf("%s is recorded and not stored", key)
		}
	}
	return nil
}
