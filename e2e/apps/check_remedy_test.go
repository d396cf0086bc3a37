package apps_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// remedied applies the remedies of a rule, and returns them.
func remedied(t *testing.T, s *harness.Scratch, text, rule string) (remedies []string) {
	t.Helper()
	findings, _ := look(t, s, text)
	for _, f := range findings {
		if f.Rule == rule {
			remedies = append(remedies, f.Remedy)
		}
	}
	if len(remedies) == 0 {
		t.Fatalf("no %s among %+v", rule, findings)
	}
	for _, remedy := range remedies {
		if !strings.HasSuffix(remedy, ";") {
			t.Fatalf("the remedy is no SQL: %s", remedy)
		}
		executeAll(t, s, strings.TrimSuffix(remedy, ";"))
	}
	if findings, _ = look(t, s, text); slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Rule == rule }) {
		t.Errorf("after %q there is %+v", remedies, findings)
	}
	return remedies
}

// TestRemedyKeeps: a statement that changes a column of MariaDB keeps all else of its
// definition.
func TestRemedyKeeps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, column, policy, want string }{
		{"narrow", "id int(10) unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s, the (key)'",
			"{column: id, source: {kind: sequence, exclusive: true, ensure_schema: true}}",
			"`id` bigint(20) NOT NULL AUTO_INCREMENT COMMENT 'it''s, the (key)',"},
		{"nullable", "id varchar(36) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT NULL COMMENT 'the key' CHECK (id <> '')", "{column: id}",
			"`id` varchar(36) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL COMMENT 'the key' CHECK (`id` <> ''),"},
		{"collation", "id varchar(8) NOT NULL DEFAULT 'x' COMMENT 'the key'",
			"{column: id, source: {kind: coprime, length: 8, alphabet: base62, collation: binary, ensure_schema: true}}",
			"`id` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'x' COMMENT 'the key',"},
		{"type", "id char(32) NOT NULL DEFAULT '' COMMENT 'the key'", "{column: id}",
			"`id` varchar(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'the key',"},
		{"type", "id mediumint NOT NULL AUTO_INCREMENT COMMENT 'the key'", "{column: id, source: {kind: uuidv7}}",
			"`id` varchar(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the key',"},
	} {
		s := harness.MySQLDefault.Scratch(t)
		executeAll(t, s, "CREATE TABLE orders ("+c.column+", UNIQUE (id)) CHARACTER SET utf8mb4")
		remedied(t, s, "  orders: "+c.policy+"\n", c.rule)
		var name, text string
		if err := s.Raw.QueryRow("SHOW CREATE TABLE orders").Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s of %s: want %s in\n%s", c.rule, c.column, c.want, text)
		}
	}
}

// TestRemedyScript: the statements of all findings, one after the other, mend all of them:
// none undoes what another one has changed.
func TestRemedyScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ column, policy, want string }{
		{"id int(10) DEFAULT NULL COMMENT 'the key'", "{column: id, source: {kind: sequence, ensure_schema: true}}",
			"`id` bigint(20) NOT NULL COMMENT 'the key',"},
		{"id varchar(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL COMMENT 'the key'",
			"{column: id, source: {kind: coprime, length: 8, alphabet: base62, collation: binary, ensure_schema: true}}",
			"CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the key',"},
	} {
		s := harness.MySQLDefault.Scratch(t)
		executeAll(t, s, "CREATE TABLE orders ("+c.column+", UNIQUE (id))")
		findings, _ := look(t, s, "  orders: "+c.policy+"\n")
		for _, f := range findings {
			if strings.HasSuffix(f.Remedy, ";") {
				executeAll(t, s, strings.TrimSuffix(f.Remedy, ";"))
			}
		}
		if len(findings) < 2 {
			t.Errorf("%s: %+v", c.column, findings)
		}
		if after, _ := look(t, s, "  orders: "+c.policy+"\n"); len(after) > 0 {
			t.Errorf("%s: after %+v there are %+v", c.column, findings, after)
		}
		var name, text string
		if err := s.Raw.QueryRow("SHOW CREATE TABLE orders").Scan(&name, &text); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: want %s in\n%s: %v", c.column, c.want, text, err)
		}
	}
}

// TestRemedyHidden: where the session is not shown all of a definition, no statement is
// printed that would take the rest away.
func TestRemedyHidden(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	for _, mode := range []string{"ANSI", "ORACLE", "NO_FIELD_OPTIONS"} {
		e.Params = "sql_mode=" + fmt.Sprintf("%%27%s%%27", mode)
		s := e.Scratch(t)
		executeAll(t, s, "CREATE TABLE orders (id VARCHAR(36) CHARACTER SET latin1 DEFAULT NULL COMMENT 'the key', UNIQUE (id))")
		findings, _ := look(t, s, "  orders: {column: id}\n")
		i := slices.IndexFunc(findings, func(f check.Finding) bool { return f.Rule == "nullable" })
		if i < 0 || strings.HasSuffix(findings[i].Remedy, ";") || !strings.Contains(findings[i].Remedy, "SHOW CREATE TABLE") {
			t.Errorf("%s: %+v", mode, findings)
		}
	}
}

// TestRemedyTrigger: the statement that drops a trigger runs as it stands, also for a
// table that a name alone does not find.
func TestRemedyTrigger(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		s := harness.MySQLDefault.Scratch(t)
		other := harness.DatabaseOf(t, s) + "_other"
		executeAll(t, s, "CREATE DATABASE "+other, "CREATE TABLE "+other+".orders (id CHAR(36) PRIMARY KEY)",
			"CREATE TRIGGER "+other+".`keys of` BEFORE INSERT ON "+other+".orders FOR EACH ROW SET NEW.id = UUID()")
		t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP DATABASE "+other) })
		remedied(t, s, "  "+other+".orders: {column: id}\n", "trigger-fills")
	})
	t.Run("postgresql", func(t *testing.T) {
		s := harness.PgxDefault.Scratch(t)
		executeAll(t, s, "CREATE SCHEMA other", `CREATE TABLE other."Orders" (id uuid PRIMARY KEY)`,
			"CREATE FUNCTION give() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id = gen_random_uuid(); RETURN NEW; END'",
			`CREATE TRIGGER "Keys of" BEFORE INSERT ON other."Orders" FOR EACH ROW EXECUTE FUNCTION give()`)
		remedied(t, s, `  'other."Orders"': {column: id}`+"\n", "trigger-fills")
	})
	t.Run("sqlite", func(t *testing.T) {
		s := harness.SQLiteFile.Scratch(t)
		executeAll(t, s, "CREATE TABLE orders (id TEXT PRIMARY KEY)",
			`CREATE TRIGGER "keys of" AFTER INSERT ON orders BEGIN UPDATE orders SET id = 'x' WHERE rowid = NEW.rowid; END`)
		remedied(t, s, "  orders: {column: id}\n", "trigger-fills")
	})
}

// TestRemedySequence: the statement that raises a sequence of PostgreSQL knows names that
// need quotes, and run late it does not lower the sequence.
func TestRemedySequence(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	executeAll(t, s, `CREATE SEQUENCE "Odd.""Name'"`, `CREATE TABLE orders (id BIGINT DEFAULT nextval('"Odd.""Name''"') PRIMARY KEY)`,
		"INSERT INTO orders VALUES (70)")
	remedies := remedied(t, s, "  orders: {column: id, source: native}\n", "state-behind")
	for _, step := range []struct {
		query string
		want  int64
	}{{"SELECT 1", 71}, {`SELECT setval('"Odd.""Name''"', 500)`, 501}} {
		executeAll(t, s, step.query)
		executeAll(t, s, strings.TrimSuffix(remedies[0], ";"))
		var next int64
		if err := s.Raw.QueryRowContext(context.Background(), `SELECT nextval('"Odd.""Name''"')`).Scan(&next); err != nil || next != step.want {
			t.Errorf("behind %s the next value is %d, want %d: %v", step.query, next, step.want, err)
		}
	}
}

// TestRemedyNames: a name in a remedy is as the policy has to write it.
func TestRemedyNames(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	executeAll(t, s, `CREATE TABLE "Odd: 'things'" ("on" TEXT)`, `ALTER TABLE "Odd: 'things'" ADD PRIMARY KEY ("on")`, `CREATE TABLE "Orders" ("Id" uuid PRIMARY KEY)`, "CREATE TABLE customers (id uuid PRIMARY KEY)")
	findings, _ := look(t, s, "  customers: {column: id}\n  order: {column: id}\n")
	var texts []string
	for _, f := range findings {
		texts = append(texts, f.Remedy)
	}
	all := strings.Join(texts, "\n")
	if want := `in the policy: '"Orders"': instead of order:`; !strings.Contains(all, want) {
		t.Errorf("want %s in\n%s", want, all)
	}
	executeAll(t, s, `CREATE TABLE "Things" ("Id" uuid PRIMARY KEY)`)
	findings, _ = look(t, s, "  customers: {column: id}\n")
	i := slices.IndexFunc(findings, func(f check.Finding) bool { return f.Table == "Things" })
	if i < 0 {
		t.Fatalf("%+v", findings)
	}
	_, entry, _ := strings.Cut(findings[i].Remedy, "under tables: ")
	findings, _ = look(t, s, "  customers: {column: id}\n  "+entry+"\n")
	if slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Table == "Things" }) {
		t.Errorf("after %q there is %+v", entry, findings)
	}
}

// TestRemedyIDs: the remedy for keys with a prefix, and keys that are made from columns, in a
// column that cannot hold them keeps what the source promises.
func TestRemedyIDs(t *testing.T) {
	t.Parallel()
	const uuidv5 = "{kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [no]}"
	long, cus := "{kind: uuidv7, prefix: customers}", "{kind: uuidv7, prefix: cus}" // a key of the first is as long as a UUID
	for _, c := range []struct {
		engine                 harness.Engine
		column, source, remedy string
	}{
		{harness.PgxDefault, "uuid", cus, "layout: string"},
		{harness.PgxDefault, "uuid", long, "layout: string"},
		{harness.PgxDefault, "bytea", cus, "layout: binary"},
		{harness.PgxDefault, "bigint", long, "TYPE text"},
		{harness.PgxDefault, "varchar(36)", "{kind: uuidv7, prefix: customer_s}", "TYPE text"},
		{harness.PgxDefault, "bytea", uuidv5, "layout: binary"},
		{harness.PgxDefault, "bigint", uuidv5, "TYPE uuid"},
		{harness.MySQLDefault, "UUID", long, "layout: string"},
		{harness.MySQLDefault, "BINARY(16)", cus, "layout: binary"},
		{harness.MySQLDefault, "VARBINARY(16)", long, "layout: binary"},
		{harness.MySQLDefault, "BIGINT", long, "VARCHAR(36)"},
		{harness.MySQLDefault, "CHAR(29)", cus, "VARCHAR(30)"},
		{harness.MySQLDefault, "BINARY(16)", uuidv5, "layout: binary"},
		{harness.MySQLDefault, "BIGINT", uuidv5, "VARCHAR(36)"},
	} {
		t.Run(c.engine.Name+"/"+c.column+"/"+c.source, func(t *testing.T) {
			s := c.engine.Scratch(t)
			executeAll(t, s, "CREATE TABLE customers (id "+c.column+" PRIMARY KEY, no BIGINT NOT NULL)")
			entry := "{column: id, source: " + c.source + "}"
			findings, _ := look(t, s, "  customers: "+entry+"\n")
			i := slices.IndexFunc(findings, func(f check.Finding) bool { return f.Rule == "type" })
			if i < 0 || !strings.Contains(findings[i].Remedy, c.remedy) {
				t.Fatalf("want a remedy with %s, have %+v", c.remedy, findings)
			}
			if remedy := findings[i].Remedy; strings.HasPrefix(c.remedy, "layout") {
				entry = strings.TrimSuffix(entry, "}") + ", " + c.remedy + "}"
			} else {
				executeAll(t, s, strings.TrimSuffix(remedy, ";"))
			}
			if after, _ := look(t, s, "  customers: "+entry+"\n"); len(after) > 0 {
				t.Errorf("after %q there is %+v", findings[i].Remedy, after)
			}
			db, _ := s.Open(t, parsed(t, "  customers: "+entry+"\n"))
			if _, err := db.Exec("INSERT INTO customers (no) VALUES (7)"); err != nil {
				t.Error(err)
			}
		})
	}
}
