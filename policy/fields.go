package policy

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/dialect"
)

// The fields that a file may hold. The reader accepts the fields of these tables, and
// the JSON Schema is made of them.
var configFields = []field[Config]{
	must("version: 1", bind("version", "The version of the format: 1.",
		shape[int]{number[int]().read, schema{"const": 1}},
		func(c *Config) *int { return &c.Version })),
	bind("dialect", "The database engine. Left out, it is known from the driver.",
		word[string]("dialect", dialectNames()),
		func(c *Config) *string { return &c.Dialect }),
	bind("default_schema", "The schema of a table that a query names without one.",
		text, func(c *Config) *string { return &c.DefaultSchema }),
	bind("sql_mode", "MySQL and MariaDB: the sql_mode of the application's sessions, a list with commas, or default. Left out, a session is asked where it matters.",
		text, func(c *Config) *string { return &c.SQLMode }),
	bind("standard_conforming_strings", "PostgreSQL: that setting of the application's sessions. Left out, a session is asked where it matters.",
		word[string]("standard_conforming_strings", switchWords),
		func(c *Config) *string { return &c.StandardConformingStrings }),
	bind("quoted_identifier", "SQL Server: that setting of the application's sessions. Left out, a session is asked where it matters.",
		word[string]("quoted_identifier", switchWords),
		func(c *Config) *string { return &c.QuotedIdentifier }),
	bind("mode", "What happens to the statements of all tables: fill (default); dry_run, decide and report but send the original text; or off.",
		modeShape, func(c *Config) *Mode { return &c.Mode }),
	bind("check", "When the policy is compared with the database: start, in the background of the first connection, whose findings are logged. Left out, it is with mode: dry_run alone.",
		word[string]("word for check:", checkWords), func(c *Config) *string { return &c.Check }),
	bind("unsupported", "What happens to an INSERT on a configured table that cannot be filled: refuse (default), or send it unfilled.",
		unsupportedShape, func(c *Config) *Unsupported { return &c.Unsupported }),
	bind("fill", "What counts as \"no key\", exactly. Left out, it is missing, null, default and zero, but zero for integers on MySQL and MariaDB only.",
		fillShape, func(c *Config) *Fill { return &c.Fill }),
	bind("stores", "Databases that keep the states of sources, by name, besides the application's own.",
		storesShape(), func(c *Config) *map[string]Store { return &c.Stores }),
	bind("store_wait", "How long an INSERT waits for a store that does not answer, as in 5s (default 10s), if its context does not end before.",
		durationShape, func(c *Config) *time.Duration { return &c.StoreWait }),
	bind("sources", "Sources that tables share, by name.",
		sourcesShape(), func(c *Config) *map[string]Source { return &c.Sources }),
	must("tables: {orders: {column: id}}", bind("tables", "The tables to fill: table, schema.table, or a glob with * and ?.",
		tablesShape(), func(c *Config) *map[string]Table { return &c.Tables })),
}

var (
	modeShape        = numbered[Mode]("mode", modeNames)
	unsupportedShape = word[Unsupported](unsupportedWhat, unsupportedWords)
	fillShape        = set[Fill]("fill word", fillWords)
	layoutShape      = word[dialect.Layout]("layout", layoutNames())
	maxBitsShape     = choice("max_bits", keyWidths)
	lastIDShape      = word[LastInsertID](lastInsertIDWhat, lastInsertIDWords)
)

const (
	columnDoc = "The key column."
	layoutDoc = "How the keys are sent. Left out, it is what the engine indexes best; integers are sent as integers, with string as decimal text."
	bitsDoc   = "How many bits an integer key may have: 31, 53 or 63 (default). Of columns that share a state, the least counts."
	sourceDoc = "What makes the keys: a kind (uuidv7 is the default), the name of an entry of sources, or a source of this table alone."
)

func tablesShape() shape[map[string]Table] {
	s := section(tableShape())
	s.schema = s.schema.with("minProperties", 1)
	return s
}

func tableShape() shape[Table] {
	s := object(tableFields())
	s.schema = s.schema.with("anyOf", []schema{
		{"required": []string{"column"}}, {"required": []string{"keys"}},
	})
	return s
}

func tableFields() []field[Table] {
	return []field[Table]{
		bind("column", columnDoc, text, func(t *Table) *string { return &t.Column }),
		sourceField(func(t *Table) (*string, **Source) { return &t.Source, &t.InPlace }),
		bind("layout", layoutDoc, layoutShape, func(t *Table) *dialect.Layout { return &t.Layout }),
		bind("max_bits", bitsDoc, maxBitsShape, func(t *Table) *int { return &t.MaxBits }),
		bind("last_insert_id", "How the application learns an integer key: session (default on MySQL and MariaDB), as LAST_INSERT_ID(); result (default on SQLite), by LastInsertId alone; or off.",
			lastIDShape, func(t *Table) *LastInsertID { return &t.LastInsertID }),
		bind("keys", "Further key columns, or all of them where column is left out.",
			list(object(keyFields())), func(t *Table) *[]Key { return &t.Keys }),
		bind("columns", "All columns of the table in order, for INSERTs without a column list.",
			list(text), func(t *Table) *[]string { return &t.Columns }),
		bind("fill", "What counts as \"no key\" in this table, exactly.",
			fillShape, func(t *Table) *Fill { return &t.Fill }),
		bind("mode", "The mode of this table, where it is more cautious than the file's.",
			modeShape, func(t *Table) *Mode { return &t.Mode }),
		bind("unsupported", "What happens to an INSERT on this table that cannot be filled.",
			unsupportedShape, func(t *Table) *Unsupported { return &t.Unsupported }),
	}
}

func keyFields() []field[Key] {
	return []field[Key]{
		must("column: id", bind("column", columnDoc, text, func(k *Key) *string { return &k.Column })),
		sourceField(func(k *Key) (*string, **Source) { return &k.Source, &k.InPlace }),
		bind("layout", layoutDoc, layoutShape, func(k *Key) *dialect.Layout { return &k.Layout }),
		bind("max_bits", bitsDoc, maxBitsShape, func(k *Key) *int { return &k.MaxBits }),
		bind("last_insert_id", "How the application learns an integer key: session, result or off (default).",
			lastIDShape, func(k *Key) *LastInsertID { return &k.LastInsertID }),
		bind("fill", "What counts as \"no key\" in this column, exactly.",
			fillShape, func(k *Key) *Fill { return &k.Fill }),
	}
}

// sourceField returns the field "source", which is a name or a source in place.
func sourceField[T any](to func(t *T) (name *string, inPlace **Source)) field[T] {
	inPlace := sourceShape()
	return field[T]{
		heading: heading{name: "source", schema: schema{
			"description": sourceDoc,
			"oneOf":       []schema{text.schema, inPlace.schema},
		}},
		read: func(r *reader, p place, n *yaml.Node, t *T) {
			name, own := to(t)
			switch {
			case n.Kind == yaml.MappingNode:
				s := inPlace.read(r, p, n)
				*own = &s
			case n.Kind == yaml.SequenceNode:
				r.misread(positionOf(n), p, "want a string or a mapping, have a list")
			default:
				*name = text.read(r, p, n)
			}
		},
	}
}

func layoutNames() []string { return namesOf(layouts) }

// namesOf returns layouts as the file spells them.
func namesOf(layouts []dialect.Layout) []string {
	var names []string
	for _, l := range layouts {
		names = append(names, string(l))
	}
	return names
}

func dialectNames() []string {
	var names []string
	for _, d := range dialect.All() {
		names = append(names, d.Name)
	}
	return names
}
