package schemafile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/draft"
	"github.com/keyfill/keyfill/internal/schemafile"
	"github.com/keyfill/keyfill/policy"
)

// shown returns what an overview says, in one line.
func shown(over *catalog.Overview) string {
	var tables []string
	for _, t := range over.Tables {
		var columns []string
		for _, c := range t.Columns {
			text := c.Name + " " + c.Type
			if c.Identity != "" {
				text += " by " + c.Identity
			}
			if slices.Contains(t.Primary, c.Name) {
				text += " key"
			} else if c.Indexes.UniqueAlone {
				text += " unique"
			}
			if !t.Nullable[c.Name] {
				text += " set"
			}
			if c.Generated {
				text += " computed"
			}
			columns = append(columns, text)
		}
		tables = append(tables, fmt.Sprintf("%s(%s)", t.Name, strings.Join(columns, ", ")))
	}
	return strings.Join(tables, " ")
}

// TestRead has what the schemas of the engines' tests do not: changes of tables, and forms
// that are seldom.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, script, want string
		unread                      int
	}{
		{"phpMyAdmin", "mysql", "CREATE TABLE a (id int(11) NOT NULL, n text); ALTER TABLE a ADD PRIMARY KEY (id), ADD KEY k (n(10)); ALTER TABLE a MODIFY id int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=7;",
			"a(id int(11) by AUTO_INCREMENT key set, n text)", 0},
		{"change", "mysql", "CREATE TABLE a (id int PRIMARY KEY, b char(3)); ALTER TABLE a CHANGE id no bigint unsigned NOT NULL, ADD COLUMN (c int, d int), DROP COLUMN b, RENAME TO z;",
			"z(no bigint unsigned key set, c int, d int)", 0},
		{"rename", "mysql", "CREATE TABLE a (id int); CREATE TABLE b (id int); RENAME TABLE a TO c, b TO a;", "c(id int) a(id int)", 0},
		{"drop", "mysql", "CREATE TABLE a (id int); CREATE TABLE b (id int); DROP TABLE IF EXISTS a, nothing;", "b(id int)", 0},
		{"like", "mysql", "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b LIKE a;", "a(id int key set) b(id int key set)", 0},
		{"columns called as constraints", "mysql", "CREATE TABLE a (`key` int, `index` int, PRIMARY KEY (`key`), UNIQUE KEY u (`index`));", "a(key int key set, index int unique)", 0},
		{"column called key", "postgres", "CREATE TABLE a (key text PRIMARY KEY, index varchar(8), period integer);", "a(key text key set, index character varying(8), period integer)", 0},
		{"executable comments", "mariadb", "CREATE TABLE a (id int /*!80023 INVISIBLE */ NOT NULL) /*!50100 PARTITION BY HASH (id) PARTITIONS 2 */;", "a(id int set)", 0},
		{"temporary", "postgres", "CREATE TEMP TABLE a (id int); CREATE TABLE b (id int);", "b(id integer)", 0},
		{"if not exists", "postgres", "CREATE TABLE IF NOT EXISTS a (id int); CREATE TABLE IF NOT EXISTS a (x text);", "a(id integer)", 0},
		{"unknown form", "postgres", "CREATE TABLE a AS SELECT 1; CREATE TABLE b (id int);", "b(id integer)", 1},
		{"types", "postgres", `CREATE TABLE a (b pg_catalog.int8, c numeric(10,0), d timestamp with time zone DEFAULT now() NOT NULL, e text[] DEFAULT '{}'::text[], f character varying DEFAULT 'x'::character varying NOT NULL, g "char");`,
			`a(b bigint, c numeric(10,0), d timestamp with time zone set, e text[], f character varying set, g character(1))`, 0},
		{"renamed column", "postgres", "CREATE TABLE a (b int PRIMARY KEY); ALTER TABLE a RENAME COLUMN b TO id; ALTER TABLE a RENAME TO c;", "c(id integer key set)", 0},
		{"dropped key", "postgres", "CREATE TABLE a (b int PRIMARY KEY); ALTER TABLE a DROP CONSTRAINT a_pkey, ADD COLUMN id uuid, ADD PRIMARY KEY (id);", "a(b integer, id uuid key set)", 0},
		{"other schema", "postgres", "CREATE TABLE x.a (id int); ALTER TABLE a ADD b int; ALTER TABLE x.a ADD c int;", "a(id integer, c integer)", 0},
		{"goose", "postgres", "-- +goose Up\nCREATE TABLE a (id int);\n-- +goose Down\nDROP TABLE a;", "a(id integer)", 0},
		{"computed", "mysql", "CREATE TABLE a (b int, c int GENERATED ALWAYS AS (b + 1) STORED, d int AS (b) VIRTUAL);", "a(b int, c int computed, d int computed)", 0},
		{"open brackets", "mysql", "CREATE TABLE a (id int", "a(id int)", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := dialect.ByName(tt.dialect)
			if err != nil {
				t.Fatal(err)
			}
			over, unread, err := schemafile.Read(d, strings.NewReader(tt.script))
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(over); got != tt.want || len(unread) != tt.unread {
				t.Errorf("Read(%q) = %s, unread %v, want %s, %d", tt.script, got, unread, tt.want, tt.unread)
			}
		})
	}
}

// FuzzRead: no text makes the reader panic, or gives a table an index of columns that it
// has not.
func FuzzRead(f *testing.F) {
	for _, script := range []string{
		"CREATE TABLE a (id int(11) NOT NULL AUTO_INCREMENT, `k` text, PRIMARY KEY (id), UNIQUE KEY u (k(3)), FOREIGN KEY (id) REFERENCES b (id));",
		"ALTER TABLE ONLY public.a ADD CONSTRAINT x PRIMARY KEY (id); CREATE UNIQUE INDEX i ON a USING btree (lower(b)) WHERE c;",
		"CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET NEW.id = 1; CREATE DOMAIN d AS text; CREATE TABLE p PARTITION OF a DEFAULT;",
		"CREATE TABLE a (", "CREATE TABLE a (b)", "ALTER TABLE a ADD", "CREATE TABLE a (a int); ALTER TABLE a ADD (b", "CREATE TABLE \"\" (a int, FOREIGN KEY () REFERENCES a);",
	} {
		for n := range dialect.All() {
			f.Add(n, script)
		}
	}
	f.Fuzz(func(t *testing.T, n int, script string) {
		all := dialect.All()
		d := all[(n%len(all)+len(all))%len(all)]
		over, _, err := schemafile.Read(d, strings.NewReader(script))
		if err != nil {
			return
		}
		for _, one := range over.Tables {
			if one.Name == "" {
				t.Errorf("a table has no name")
			}
		}
		if _, err := policy.Parse([]byte(draft.Of(d, over).Text())); err != nil {
			t.Errorf("the policy for the tables cannot be read: %v", err)
		}
	})
}
