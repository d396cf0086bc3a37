package statements_test

import (
	"fmt"
	"regexp"
	"strings"
)

// typedTable is a table into which the rows of queries go. It has the columns u, a, b and
// tag, as the others have, and one of each type that the facts have.
type typedTable struct {
	name   string
	source string         // in the policy
	form   *regexp.Regexp // of its keys as the comparison reads them; nil for integers
	bytes  bool           // its keys are bytes, which are read in hexadecimal
}

// typedTables are one table for each source whose keys an INSERT … SELECT may get.
var typedTables = []typedTable{
	{name: "numbered", source: "{kind: sequence, ensure_schema: true, start: 500000001, block: 10}"},
	{name: "counted", source: "{kind: sequence, ensure_schema: true, start: 600000001, block: 10, exclusive: true}"},
	{name: "joined", source: "{kind: sequence, ensure_schema: true, start: 700000001, transaction: joined}"},
	{name: "native", source: "{kind: native, block: 1}"},
	{name: "v7", source: "uuidv7", form: regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)},
	{name: "v7bytes", source: "uuidv7", form: regexp.MustCompile(`^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`), bytes: true},
	{name: "ulids", source: "ulid", form: regexp.MustCompile(`^0[0-9A-HJKMNP-TV-Z]{25}$`)},
	{name: "ulidbytes", source: "ulid", form: regexp.MustCompile(`^0[0-9a-f]{31}$`), bytes: true},
	{name: "combs", source: "{kind: comb, epoch: unix}", form: regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)},
	{name: "combbytes", source: "{kind: comb, epoch: unix}", form: regexp.MustCompile(`^[0-9a-f]{32}$`), bytes: true},
}

// typedTableOf returns the typed table of a name; nil if there is none.
func typedTableOf(name string) *typedTable {
	for i := range typedTables {
		if typedTables[i].name == name {
			return &typedTables[i]
		}
	}
	return nil
}

// typed returns the typed tables of an engine. PostgreSQL alone has the sequence of a
// column, of which a query can number its rows.
func (w *twin) typed() (tables []typedTable) {
	for _, table := range typedTables {
		if table.name != "native" || w.IsPostgres() {
			tables = append(tables, table)
		}
	}
	return tables
}

// typedColumn is a column of the facts and of the typed tables.
type typedColumn struct {
	name, typ string
	kind      valueKind
	values    [4]string // of the facts, as literals; their last row has NULL
}

// valueKind says which expressions suit the values of a column.
type valueKind int

const (
	aNumber valueKind = iota
	aText
	aTime
	another
)

// typedColumns are the columns by engine.
var typedColumns = map[string][]typedColumn{
	"mariadb": {
		{"ti", "TINYINT", aNumber, [4]string{"7", "-128", "127", "0"}},
		{"si", "SMALLINT", aNumber, [4]string{"7", "-32768", "300", "0"}},
		{"mi", "MEDIUMINT UNSIGNED", aNumber, [4]string{"7", "16777215", "300", "0"}},
		{"i", "INT", aNumber, [4]string{"1", "5", "10", "-2147483648"}},
		{"bi", "BIGINT", aNumber, [4]string{"7", "9223372036854775807", "-3", "0"}},
		{"bu", "BIGINT UNSIGNED", aNumber, [4]string{"7", "18446744073709551615", "3", "0"}},
		{"de", "DECIMAL(20,8)", aNumber, [4]string{"1.25", "-3.33333333", "100", "0.00000001"}},
		{"f", "FLOAT", aNumber, [4]string{"0.5", "-2.25", "10000000000", "0.1"}},
		{"d", "DOUBLE", aNumber, [4]string{"0.5", "-2.25", "1e300", "0.1"}},
		{"da", "DATE", aTime, [4]string{"'2020-02-29'", "'1999-12-31'", "'2021-01-31'", "'1000-01-01'"}},
		{"dt", "DATETIME(6)", aTime, [4]string{"'2020-02-29 23:59:59.123456'", "'1999-12-31'", "'2021-01-31 01:02:03.5'", "'1000-01-01'"}},
		{"ts", "TIMESTAMP(6) NULL", aTime, [4]string{"'2020-02-29 23:59:59.123456'", "'1999-12-31'", "'2021-01-31 01:02:03.5'", "'1980-01-01'"}},
		// A time that is too late for its type with a day more is an error, but NULL under UNION
		// where no row is numbered.
		{"tm", "TIME(3)", aTime, [4]string{"'12:34:56.789'", "'-01:00:00'", "'700:59:59'", "'00:00:00'"}},
		{"y", "YEAR", aTime, [4]string{"2020", "1999", "2021", "1901"}},
		{"c", "CHAR(10) CHARACTER SET utf8mb4", aText, [4]string{"'é'", "'x'", "'3'", "''"}},
		{"vc", "VARCHAR(20) CHARACTER SET utf8mb4", aText, [4]string{"'日本'", "'one '", "'3'", "''"}},
		{"cl", "CHAR(10) CHARACTER SET latin1", aText, [4]string{"'é'", "'x'", "'3'", "''"}},
		{"vl", "VARCHAR(20) CHARACTER SET latin1", aText, [4]string{"'naïve'", "'one '", "'3'", "''"}},
		{"tx", "TEXT CHARACTER SET utf8mb4", aText, [4]string{"'日本'", "'2020-02-03'", "'3'", "''"}},
		{"tl", "TEXT CHARACTER SET latin1", aText, [4]string{"'é'", "'one'", "'3.5'", "''"}},
		{"bn", "BINARY(4)", another, [4]string{"x'00ff'", "'abcd'", "'3'", "''"}},
		{"vb", "VARBINARY(20)", another, [4]string{"x'00ff'", "'abcd '", "'3'", "''"}},
		{"bl", "BLOB", another, [4]string{"x'e9'", "'abcd'", "'3'", "''"}},
		{"bt", "BIT(12)", another, [4]string{"b'101'", "4095", "3", "0"}},
		{"en", "ENUM('x', 'y', '3')", another, [4]string{"'x'", "'y'", "'3'", "'y'"}},
		{"se", "SET('p', 'q', '3')", another, [4]string{"'p,q'", "'q'", "'3'", "''"}},
		{"js", "JSON", another, [4]string{`'{"k": [1.50]}'`, "'[]'", "'3'", "'null'"}},
	},
	"postgres": {
		{"si", "smallint", aNumber, [4]string{"7", "-32768", "300", "0"}},
		{"i", "int", aNumber, [4]string{"1", "5", "10", "-2147483648"}},
		{"bi", "bigint", aNumber, [4]string{"7", "9223372036854775807", "-3", "0"}},
		{"de", "numeric(20,8)", aNumber, [4]string{"1.25", "-3.33333333", "100", "0.00000001"}},
		{"nu", "numeric", aNumber, [4]string{"1.250", "'NaN'", "1e40", "0.1"}},
		{"f", "real", aNumber, [4]string{"0.5", "-2.25", "10000000000", "0.1"}},
		{"d", "float8", aNumber, [4]string{"0.5", "-2.25", "1e300", "0.1"}},
		{"da", "date", aTime, [4]string{"'2020-02-29'", "'1999-12-31'", "'infinity'", "'1000-01-01'"}},
		{"dt", "timestamp", aTime, [4]string{"'2020-02-29 23:59:59.123456'", "'1999-12-31'", "'2021-01-31 01:02:03.5'", "'1000-01-01'"}},
		{"tz", "timestamptz", aTime, [4]string{"'2020-02-29 23:59:59.123456+05'", "'1999-12-31'", "'2021-01-31 01:02:03.5'", "'1000-01-01'"}},
		{"tm", "time", aTime, [4]string{"'12:34:56.789'", "'24:00'", "'01:02:03.5'", "'00:00:00'"}},
		{"iv", "interval", aTime, [4]string{"'1 day 02:03'", "'-1 mon'", "'90 min'", "'0'"}},
		{"bo", "boolean", another, [4]string{"true", "false", "true", "false"}},
		{"c", "char(10)", aText, [4]string{"'é'", "'x'", "'3'", "''"}},
		{"vc", "varchar(20)", aText, [4]string{"'日本'", "'one '", "'3'", "''"}},
		{"tx", "text", aText, [4]string{"'日本'", "'2020-02-03'", "'3'", "''"}},
		{"ba", "bytea", another, [4]string{`'\x00ff'`, "'abcd'", "'3'", "''"}},
		{"bt", "bit(8)", another, [4]string{"B'10100000'", "B'11111111'", "B'00000001'", "B'00000000'"}},
		{"vb", "bit varying(20)", another, [4]string{"B'101'", "B''", "B'00000001'", "B'0'"}},
		{"js", "json", another, [4]string{`'{"k":  [1.50]}'`, "'[]'", "'3'", "'null'"}},
		{"jb", "jsonb", another, [4]string{`'{"k":  [1.50]}'`, "'[]'", "'3'", "'null'"}},
		{"uu", "uuid", another, [4]string{"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'", "'00000000-0000-0000-0000-000000000003'", "'00000000-0000-0000-0000-000000000000'"}},
		{"ar", "int[]", another, [4]string{"'{1,2}'", "'{}'", "'{{1},{2}}'", "'{NULL}'"}},
		{"ip", "inet", another, [4]string{"'127.0.0.1'", "'::1'", "'10.0.0.0/8'", "'0.0.0.0'"}},
		{"en", "mood", another, [4]string{"'x'", "'y'", "'3'", "'y'"}},
	},
	"sqlite": {
		{"i", "INT", aNumber, [4]string{"1", "5", "10", "-9223372036854775808"}},
		{"nu", "NUMERIC", aNumber, [4]string{"1.25", "-3", "'3.0'", "'x'"}},
		{"de", "DECIMAL(20,8)", aNumber, [4]string{"1.25", "-3.33333333", "100", "0.00000001"}},
		{"r", "REAL", aNumber, [4]string{"0.5", "-2.25", "1e300", "3"}},
		{"bo", "BOOLEAN", aNumber, [4]string{"true", "false", "1", "'x'"}},
		{"da", "DATE", aTime, [4]string{"'2020-02-29'", "'1999-12-31'", "'2021-01-31'", "20200101"}},
		{"dt", "DATETIME", aTime, [4]string{"'2020-02-29 23:59:59'", "'1999-12-31'", "'2021-01-31'", "1.5"}},
		{"vc", "VARCHAR(20)", aText, [4]string{"'日本'", "'one '", "3", "''"}},
		{"tx", "TEXT", aText, [4]string{"'é'", "'3.50'", "1.50", "x'ff'"}},
		{"bl", "BLOB", another, [4]string{"x'00ff'", "'abcd'", "3", "1.5"}},
		{"no", "", another, [4]string{"x'00ff'", "'3'", "3", "1.5"}},
	},
}

// typedColumns returns the columns of the engine.
func (w *twin) typedColumns() []typedColumn { return typedColumns[w.Dialect.Name] }

// createTyped returns the statements that make the typed tables of a schema, the facts
// and a view of them.
func (w *twin) createTyped(schema string, plain bool) (texts []string) {
	add := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	columns := w.typedColumns()
	var types, rows strings.Builder
	for _, c := range columns {
		typ := c.typ
		if typ == "mood" {
			typ = schema + typ
		}
		types.WriteString(", " + c.name + " " + typ)
	}
	for x := range 5 {
		fmt.Fprintf(&rows, "%s(%d, %s", []string{"", ", "}[min(x, 1)], x, []string{"1", "1", "2", "2", "NULL"}[x])
		for _, c := range columns {
			if x == 4 {
				rows.WriteString(", NULL")
			} else {
				rows.WriteString(", " + c.values[x])
			}
		}
		rows.WriteString(")")
	}
	create := "CREATE TABLE "
	switch {
	case w.IsPostgres():
		add("CREATE TYPE %smood AS ENUM ('x', 'y', '3')", schema)
	case w.Server != nil:
		create = "CREATE OR REPLACE TABLE "
	}
	for _, table := range w.typed() {
		add("%s%s%s (%s, u INT UNIQUE, a INT DEFAULT 7, b VARCHAR(20) DEFAULT 'd', tag INT%s)", create, schema, table.name, w.typedKey(table, plain), types.String())
		first := firstKeys[table.name]
		switch {
		case table.form != nil || !plain && table.name != "counted":
		case w.Server == nil:
			add("INSERT INTO sqlite_sequence VALUES ('%s', %d)", table.name, first-1)
		case !w.IsPostgres():
			add("ALTER TABLE %s%s AUTO_INCREMENT = %d", schema, table.name, first)
		}
	}
	add("%s%sfacts (x INT PRIMARY KEY, g INT%s)", create, schema, types.String())
	add("INSERT INTO %sfacts VALUES %s", schema, rows.String())
	view := "CREATE VIEW "
	if w.Server != nil {
		view = "CREATE OR REPLACE VIEW "
	}
	add("%s%sseen AS SELECT * FROM %[2]sfacts", view, schema)
	return texts
}

// typedKey returns the definition of a typed table's key column.
func (w *twin) typedKey(table typedTable, plain bool) string {
	var typ, made string
	switch engine := w.Dialect.Name; {
	case table.form == nil:
		switch {
		case engine == "postgres" && (plain || table.name == "counted" || table.name == "native"):
			return fmt.Sprintf("id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH %d) PRIMARY KEY", firstKeys[table.name])
		case engine == "sqlite" && (plain || table.name == "counted"):
			return "id INTEGER PRIMARY KEY AUTOINCREMENT"
		case engine == "sqlite":
			return "id INTEGER PRIMARY KEY"
		case engine == "mariadb" && (plain || table.name == "counted"):
			return "id BIGINT AUTO_INCREMENT PRIMARY KEY"
		}
		return "id BIGINT PRIMARY KEY"
	case engine == "postgres":
		switch {
		case table.bytes:
			typ, made = "bytea", "decode(replace(gen_random_uuid()::text, '-', ''), 'hex')"
		case table.name == "ulids":
			typ, made = "CHAR(26)", "left(gen_random_uuid()::text, 26)"
		default:
			typ, made = "uuid", "gen_random_uuid()"
		}
	case engine == "sqlite":
		typ, made = "TEXT", "(lower(hex(randomblob(16))))"
		if table.bytes {
			typ, made = "BLOB", "(randomblob(16))"
		}
	case table.bytes:
		typ, made = "BINARY(16)", "(unhex(replace(uuid(), '-', '')))"
	case table.name == "ulids":
		typ, made = "CHAR(26)", "(left(uuid(), 26))"
	default:
		typ, made = "CHAR(36)", "(uuid())"
	}
	if plain {
		return "id " + typ + " PRIMARY KEY DEFAULT " + made
	}
	return "id " + typ + " PRIMARY KEY"
}

// typedRead returns what the comparison reads of a typed table: the key, and b with all
// typed columns, whose bytes have to be the same.
func (w *twin) typedRead(table *typedTable) (id, rest string) {
	var each []string
	for _, c := range w.typedColumns() {
		switch w.Dialect.Name {
		case "mariadb":
			each = append(each, "COALESCE(HEX(CAST("+c.name+" AS BINARY)), '-')")
		case "sqlite":
			each = append(each, "typeof("+c.name+") || quote("+c.name+")")
		default:
			each = append(each, "COALESCE(CAST("+c.name+" AS text), '-')")
		}
	}
	id = "CAST(id AS " + w.text + ")"
	hex := "LOWER(HEX(id))"
	rest = "COALESCE(b, '-') || '|' || " + strings.Join(each, " || '|' || ")
	switch w.Dialect.Name {
	case "mariadb":
		rest = "CONCAT_WS('|', COALESCE(b, '-'), " + strings.Join(each, ", ") + ")"
	case "postgres":
		hex = "encode(id, 'hex')"
	}
	if table.bytes {
		id = hex
	}
	return id, rest
}
