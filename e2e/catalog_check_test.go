package e2e_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// checkTypes are the types of columns that keys are tried on, for one engine
// of each dialect.
var checkTypes = []struct {
	engine engine
	types  []string
}{
	{sqliteFile, []string{"INTEGER", "INTEGER PRIMARY KEY", "BIGINT", "TEXT", "VARCHAR(36)", "BLOB", "REAL", "NUMERIC", "UUID", ""}},
	{mysqlDefault, []string{"TINYINT", "SMALLINT UNSIGNED", "MEDIUMINT", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(9)",
		"DECIMAL(10)", "DECIMAL(16)", "DECIMAL(19)", "FLOAT", "DOUBLE", "CHAR(9)", "CHAR(10)", "VARCHAR(16)", "VARCHAR(19)", "CHAR(35)",
		"CHAR(36)", "TEXT", "BINARY(15)", "BINARY(16)", "VARBINARY(20)", "BLOB", "UUID", "DECIMAL(18,2)", "DECIMAL(25,2)", "BIT(8)", "YEAR", "DATE", "TIME",
		"INET6"}},
	{pgxDefault, checkPostgreSQL},
	{pqDefault, checkPostgreSQL},
}

var checkPostgreSQL = []string{"smallint", "integer", "bigint", "numeric", "numeric(9)", "numeric(10)", "numeric(16)", "numeric(19)", "real",
	"double precision", "char(9)", "char(10)", "varchar(16)", "varchar(19)", "char(35)", "char(36)", "text", "bytea", "uuid",
	"numeric(18,2)", "numeric(25,2)", "numeric(20,-2)", "money", `"char"`, "boolean", "bit(8)", "varbit", "date", "time", "timestamp", "timestamptz",
	"interval", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "tsvector", "tsquery", "point"}

// checkKeys are the greatest keys of each kind.
func checkKeys() []struct {
	key   catalog.Key
	value driver.Value
} {
	one := uuid.Must(uuid.NewV7())
	keys := []struct {
		key   catalog.Key
		value driver.Value
	}{
		{catalog.Key{Column: "id", Layout: dialect.SequentialAsString, Length: 36}, dialect.SequentialAsString.Value(one)},
		{catalog.Key{Column: "id", Layout: dialect.SequentialAsBinary}, dialect.SequentialAsBinary.Value(one)},
	}
	for _, bits := range []int{31, 53, 63} {
		greatest := int64(1<<bits - 1)
		k := catalog.Key{Column: "id", Integer: true, MaxBits: bits}
		text := k
		text.Layout = dialect.SequentialAsString
		keys = append(keys, struct {
			key   catalog.Key
			value driver.Value
		}{k, greatest}, struct {
			key   catalog.Key
			value driver.Value
		}{text, fmt.Sprint(greatest)})
	}
	return keys
}

// TestCatalogCheckLaw: the engine stores every key that passes the check as it
// was sent, and of each type some pass and some do not.
func TestCatalogCheckLaw(t *testing.T) {
	for _, c := range checkTypes {
		t.Run(c.engine.name, func(t *testing.T) {
			t.Parallel()
			s := c.engine.scratch(t)
			session := s.session(t)
			passed := 0
			for i, kind := range c.types {
				name := fmt.Sprintf("t%d", i)
				session.exec(t, fmt.Sprintf("CREATE TABLE %s (id %s)", name, kind))
				table, err := session.read("", name)
				if err != nil {
					t.Fatal(err)
				}
				fits := 0
				for _, k := range checkKeys() {
					err := table.Check(s.dialect, k.key)
					if err == nil {
						fits++
						checkStored(t, session, name, kind, k.value)
					} else if !errors.Is(err, catalog.ErrType) && !errors.Is(err, catalog.ErrNarrow) {
						t.Errorf("%s: %v", kind, err)
					}
				}
				passed += fits
				if fits == len(checkKeys()) && s.dialect.Name != "sqlite" {
					t.Errorf("%s takes every key", kind)
				}
			}
			if passed < 8 {
				t.Errorf("%d keys pass, want every kind of them on some column", passed)
			}
		})
	}
}

// checkStored inserts a key and reads it again.
func checkStored(t *testing.T, s *session, table, kind string, key driver.Value) {
	t.Helper()
	ctx := context.Background()
	if _, err := s.conn.ExecContext(ctx, "DELETE FROM "+table); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.ExecContext(ctx, s.placeholders("INSERT INTO "+table+" (id) VALUES (?)"), key); err != nil {
		t.Errorf("%s does not take %T %v: %v", kind, key, key, err)
		return
	}
	var stored []byte
	if err := s.conn.QueryRowContext(ctx, "SELECT id FROM "+table).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	want, isBytes := key.([]byte)
	if !isBytes {
		want = fmt.Append(nil, key)
	}
	if !isBytes {
		stored = bytes.TrimRight(stored, " ") // char(n) is padded
	}
	if !bytes.Equal(stored, want) {
		t.Errorf("%s stores %q for %T %v", kind, stored, key, key)
	}
}
