package policy

import (
	"encoding/json"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/dialect"
)

func newFieldLevels() *fieldLevels {
	l := &fieldLevels{
		file: fieldNames(headings(configFields)), table: fieldNames(headings(tableFields())),
		source: fieldNames(headings(sourceFields)), kinds: kindNames(),
		kindsWith: make(map[string][]string),
	}
	for _, name := range l.source {
		l.kindsWith[name] = kindsWith(name)
	}
	return l
}

// The fields that a file may hold. The reader accepts exactly these fields, and the
// JSON Schema is generated from them.
var configFields = []field[Config]{
	must("version: 1", bind("version", "The version of the format of the file.",
		shape[int]{number[int]().read, schema{"const": 1}},
		func(c *Config) *int { return &c.Version })).as(1),
	bind("dialect", "The database engine. Left out, the driver shows it; a driver that keyfill does not know cannot.",
		word[string]("dialect", dialectNames()),
		func(c *Config) *string { return &c.Dialect }).as("postgres"),
	bind("engine", "The product that speaks the dialect, for the advice of keyfill check alone; none: the dialect's own engine. Left out, the check asks the server.",
		word[string]("engine", engineNames()),
		func(c *Config) *string { return &c.Engine }).as("cockroachdb"),
	bind("default_schema", "The schema of a table that a query names without one. Left out, only entries without a schema match such a table.",
		text, func(c *Config) *string { return &c.DefaultSchema }).as("shop"),
	bind("sql_mode", "MySQL and MariaDB: the sql_mode of the application's sessions, a list with commas, or default. Left out, a session is asked where it matters.",
		text, func(c *Config) *string { return &c.SQLMode }).as("ANSI_QUOTES"),
	bind("standard_conforming_strings", "PostgreSQL: that setting of the application's sessions. Left out, a session is asked where it matters.",
		word[string]("standard_conforming_strings", switchWords),
		func(c *Config) *string { return &c.StandardConformingStrings }).as("on"),
	bind("quoted_identifier", "SQL Server: that setting of the application's sessions. Left out, a session is asked where it matters.",
		word[string]("quoted_identifier", switchWords),
		func(c *Config) *string { return &c.QuotedIdentifier }).as("on"),
	bind("session_reads", "What happens to a statement that asks the session for a number that keyfill has made instead of the engine, as by lastval() or currval. error: it is an error, before anything is sent; warn: it is sent, and the log gets a warning; pass: it is sent.",
		word[SessionReads](sessionReadsWhat, sessionReadsWords),
		func(c *Config) *SessionReads { return &c.SessionReads }).byDefault("error").as("warn"),
	bind("mode", "What happens to the statements of all tables. fill: keys are filled; dry_run: keyfill decides and reports, and sends the original text; off: statements go to the driver as they are.",
		modeShape, func(c *Config) *Mode { return &c.Mode }).byDefault("fill").as("dry_run"),
	bind("check", "When the policy is compared with the database. start: in the background, when the first connection is opened; the findings are logged. Left out, the policy is compared with mode: dry_run alone.",
		word[string]("word for check:", checkWords), func(c *Config) *string { return &c.Check }).as("start"),
	bind("unsupported", "What happens to an INSERT into a configured table that cannot be filled exactly. refuse: it is an error, before anything is sent; unfilled: it is sent as it is.",
		unsupportedShape, func(c *Config) *Unsupported { return &c.Unsupported }).byDefault("refuse").as("unfilled"),
	bind("ensure_schema", "Whether keyfill creates its tables where they are missing, and the rows of states without a name of their own: what ensure_schema of a source is where that leaves it out. The row of a state with a name, which other files may share, is made where the source says create: true.",
		boolean, func(c *Config) *bool { return &c.EnsureSchema }).byDefault(false).as(true),
	bind("fill", "What counts as \"no key\", exactly. missing: the INSERT does not name the column; null: NULL; default: the word DEFAULT; zero: an integer 0, an empty text and the zero UUID. Left out, it is all four, but zero for integers on MySQL and MariaDB only.",
		fillShape, func(c *Config) *Fill { return &c.Fill }).as([]string{"missing", "null", "default"}),
	bind("stores", "Databases that keep the states of sources, by name. Left out, all states are in the application's own database.",
		storesShape(), func(c *Config) *map[string]Store { return &c.Stores }).
		as(schema{"central": schema{"driver": "mysql", "dsn_env": "APP_CENTRAL_DSN"}}),
	bind("store_wait", "How long an INSERT waits for a store that does not answer, if its context does not end before.",
		durationShape, func(c *Config) *time.Duration { return &c.StoreWait }).byDefault("10s").as("5s"),
	bind("sources", "Sources that tables share, by name. Left out, each table says its own source.",
		sourcesShape(), func(c *Config) *map[string]Source { return &c.Sources }).
		as(schema{"order_no": schema{"kind": "sequence", "ensure_schema": true}}),
	must("tables: {orders: {column: id}}", bind("tables", "The tables to fill. A name is written as in SQL, table or schema.table, and may be a pattern with * and ?. Without an entry, every statement passes.",
		tablesShape(), func(c *Config) *map[string]Table { return &c.Tables })).
		as(schema{"log_*": schema{"column": "id", "source": "ulid"}}),
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
	layoutDoc = "How the keys are sent. string: as text, a UUID in 36 characters and an integer in decimal digits; binary: as 16 bytes; swapped: as the 16 bytes of MySQL's UUID_TO_BIN(uuid, 1), in which a uuidv7 is not ordered, for tables that have them; sequential_at_end: as the text of a uniqueidentifier whose order in an index of SQL Server is the order of generation. Left out, integers are sent as integers, and UUIDs as binary on Oracle, sequential_at_end on SQL Server and string elsewhere."
	bitsDoc   = "How many bits an integer key may have: 31 as an INT, 53 as a number of JavaScript, 63 as a BIGINT. Of columns that share a state, the least counts."
	sourceDoc = "What makes the keys: a kind, the name of an entry of sources, or a source of this column alone."
)

// tablesShape is the shape (type) of the section tables, which may be empty: a program
// can have keyfill before it has keys to fill.
func tablesShape() shape[map[string]Table] {
	s := section(tableShape())
	entries := s.read
	s.read = func(r *reader, p place, n *yaml.Node) map[string]Table {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Style&yaml.TaggedStyle == 0 {
			return nil
		}
		return entries(r, p, n)
	}
	s.schema = s.schema.with("type", []string{"object", "null"})
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
		bind("column", "The key column, written as in SQL. Left out, keys names all key columns.",
			text, func(t *Table) *string { return &t.Column }).as("id"),
		sourceEntry(func(t *Table) (*string, **Source) { return &t.Source, &t.InPlace }),
		bind("layout", layoutDoc, layoutShape, func(t *Table) *dialect.Layout { return &t.Layout }).as("binary"),
		bind("max_bits", bitsDoc, maxBitsShape, func(t *Table) *int { return &t.MaxBits }).byDefault(63).as(31),
		bind("last_insert_id", "How the application learns an integer key. session: by LAST_INSERT_ID() and by LastInsertId; result: by LastInsertId alone; off: LastInsertId is the driver's own. Left out, it is session on MySQL and MariaDB, result on SQLite and off elsewhere.",
			lastIDShape, func(t *Table) *LastInsertID { return &t.LastInsertID }).as("result"),
		bind("keys", "Further key columns, or all of them where column is left out. Left out, column is the only one.",
			list(object(keyFields())), func(t *Table) *[]Key { return &t.Keys }).as([]schema{{"column": "tag", "source": "ulid"}}),
		bind("columns", "All columns of the table in order, for INSERTs without a column list. Left out, the connection of such an INSERT is asked.",
			list(text), func(t *Table) *[]string { return &t.Columns }).as([]string{"id", "name"}),
		bind("fill", "What counts as \"no key\" in this table, exactly, in the words of the file's fill. Left out, it is what the file says.",
			fillShape, func(t *Table) *Fill { return &t.Fill }).as([]string{"missing", "null"}),
		bind("mode", "The mode of this table, which counts where it is more cautious than the file's: off is more cautious than dry_run, and dry_run more than fill.",
			modeShape, func(t *Table) *Mode { return &t.Mode }).byDefault("fill").as("off"),
		bind("unsupported", "What happens to an INSERT into this table that cannot be filled exactly, in the words of the file's unsupported. Left out, it is what the file says.",
			unsupportedShape, func(t *Table) *Unsupported { return &t.Unsupported }).as("unfilled"),
	}
}

func keyFields() []field[Key] {
	return []field[Key]{
		must("column: id", bind("column", "The key column, written as in SQL.", text, func(k *Key) *string { return &k.Column })).as("tag"),
		sourceEntry(func(k *Key) (*string, **Source) { return &k.Source, &k.InPlace }),
		bind("layout", layoutDoc, layoutShape, func(k *Key) *dialect.Layout { return &k.Layout }).as("binary"),
		bind("max_bits", bitsDoc, maxBitsShape, func(k *Key) *int { return &k.MaxBits }).byDefault(63).as(31),
		bind("last_insert_id", "How the application learns an integer key of this column, in the words of the table's last_insert_id.",
			lastIDShape, func(k *Key) *LastInsertID { return &k.LastInsertID }).byDefault("off").as("result"),
		bind("fill", "What counts as \"no key\" in this column, exactly, in the words of the file's fill. Left out, it is what the table says.",
			fillShape, func(k *Key) *Fill { return &k.Fill }).as([]string{"missing", "null"}),
	}
}

// sourceEntry returns the field "source", whose value is a name or a whole source.
func sourceEntry[T any](to func(t *T) (name *string, inPlace **Source)) field[T] {
	inPlace := sourceShape()
	return field[T]{
		heading: heading{name: "source", schema: schema{
			"description": sourceDoc,
			"oneOf":       []schema{text.schema, inPlace.schema},
			"default":     defaultKind,
			"examples":    []any{"order_no", schema{"kind": "sequence", "ensure_schema": true}},
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

// namesOf returns the names of layouts in the file.
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

// engineNames returns the words that the field engine takes.
func engineNames() []string {
	names := []string{EngineNone}
	for _, p := range dialect.Products() {
		names = append(names, p.Name)
	}
	return names
}

// generateSchema returns the content that keyfill.schema.json has to have.
func generateSchema() ([]byte, error) {
	s := objectSchema(headings(configFields)).
		with("$schema", "https://json-schema.org/draft/2020-12/schema").
		with("title", "keyfill").
		with("description", "Which columns are keys and which sources make them.")
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
