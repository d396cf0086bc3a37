// Package policy reads the configuration: which column of which table is a key
// and which source makes it.
//
// A [Config] holds the content of the file, or is filled in by a program.
// [Config.Compile] checks it against a dialect and turns it into a [Policy],
// which answers one question: which [Rule] applies to this table? A policy never
// changes and is safe for concurrent use.
//
// Nothing is guessed. A setting that is not understood, contradicts another one or would
// do nothing is an error, with file, line and column where it came from a file; up to ten
// of them at once.
//
// # The file
//
//	version: 1                      # always
//	dialect: mysql                  # optional: mysql, mariadb, postgres, sqlite, sqlserver, oracle
//	default_schema: shop            # the schema that "INSERT INTO orders" means
//	sql_mode: ANSI_QUOTES           # optional, of the application's sessions: see below
//	mode: fill                      # fill | dry_run | off
//	unsupported: refuse             # refuse | unfilled
//	ensure_schema: true             # keyfill makes the tables in which sources count
//	fill: [missing, null, default]  # exactly these count as "no key"
//	stores:                         # databases that keep states, besides the application's own
//	  central: {driver: pgx, dsn_env: APP_CENTRAL_DSN}
//	sources:
//	  event_no: {kind: ulid}        # one state for all tables that name it
//	  order_no: {kind: sequence, block: 1000}
//	  tenant_no: {kind: sequence, store: central, name: "{table}-{value:tenant}"}
//	tables:
//	  customers:     {column: id}                              # uuidv7
//	  devices:       {column: id, source: uuidv7, layout: binary}
//	  orders:        {column: id, source: {kind: comb, epoch: unix}}
//	  shop.events:   {column: id, source: event_no}
//	  order_lines:   {keys: [{column: id}, {column: tag, source: ulid}]}
//	  old_invoices:  {column: id, source: identity}            # the engine makes it
//	  "log_*":       {column: id, source: uuidv4, mode: dry_run}
//	  invoices:      {column: id, source: order_no, max_bits: 31}
//	  payments:      {column: id, source: sequence, last_insert_id: result}  # session | result | off
//	  tickets:       {column: no, source: tenant_no, layout: string}         # decimal text
//	  "audit_*":     {column: id, source: {kind: snowflake, worker_env: APP_WORKER}}
//	  receipts:      {column: no, source: {kind: sequence, transaction: joined}}           # gap-free
//	  receipt_lines: {column: no, source: {kind: sequence, scope: [receipt_no]}}           # 1, 2, … in each receipt
//	  links:         {column: code, source: {kind: coprime, length: 6}}
//	  bills:         {column: no, source: {kind: sequence, format: "B-{n:06}"}}            # B-000001, B-000002, …
//
// keyfill.schema.json, also given by [Schema], describes it to editors.
//
// # Settings of the sessions
//
// sql_mode (MySQL, MariaDB; a list with commas, or default), standard_conforming_strings
// (PostgreSQL; on or off) and quoted_identifier (SQL Server; on or off) change where
// strings and names end. Left out, a connection is asked when an INSERT depends on the
// answer, and again after a text that may have changed it. A setting in the policy holds
// for every session, and nothing is asked: give it if all sessions are set so.
//
// # Names
//
// Names are written as in SQL and compare as the engine compares them. A part in the
// engine's own quotes is exact ('"Orders"' for PostgreSQL, where the outer quotes are
// YAML's); any other is folded, and holds nothing that the engine would want quotes for.
// With lower_case_table_names=0 the names of tables are case-sensitive on MySQL and
// MariaDB: an entry means the table of its very name. A table is given as table or
// schema.table; of more parts the last two count.
//
// A bare table matches in any schema. A qualified one matches in its schema
// only. A table without a schema in the SQL is in the one that the session is in,
// and matches a qualified entry if there is a default_schema; without a database
// to ask, it is in that. In a part without quotes * stands for any characters and ? for one.
//
// A file may hold "tables:" without an entry: every statement passes, and the driver is
// there before the first table is filled.
//
// An exact entry wins over a glob, a qualified exact one over a bare one, and
// of two globs the one with more characters besides * and ?. Two globs with
// equally many that one name can match are an error. No glob matches a table of
// a session's own, #t or @t of SQL Server: its entry has its name.
//
// # States
//
// The kinds sequence, native, maxplusone, pseudorandom, scatter, recycled and
// snowflake make integers, which are sent as int64, or as decimal text where the
// layout is string; coprime, composite and a sequence with format make text. Their sources
// have a state:
//
//	source                              its name                         tables that share it
//	in place, or a kind                 table.column, or schema.table.column for a table that is not the one of
//	                                    that name where the database is opened      none
//	an entry of sources                 the name of the entry            all that name it
//	either, with name: "a"              a                                all with that name
//	with name: "{schema}-{table}"       the table's names filled in       all for which it is the same
//	with name: "{value:x}"              as many as x has values          all for which it is the same
//
// A value comes with the execution: keyfill.WithValue(ctx, "x", …). One name is one
// source: two different sources with the same name are an error. maxplusone, native
// without sequence, and a sequence with scope count through a part of the column
// itself, which no two columns share. [RuleKey] names the columns that a state serves,
// and [Guarantees] describes the keys of a source.
//
//	sequence      store, block or min_block and max_block, start, ensure_schema, create, exclusive,
//	              follow_explicit, on_behind: error | advance | warn, on_store_rollback: error | advance,
//	              lock: pessimistic | optimistic, table, via: table | procedure, procedure,
//	              transaction: autonomous | joined, scope, format, max_length, alphabet,
//	              period: none | day | month | quarter | year, or {every, starts, zone, column}
//	native        sequence (left out: the column's own), block: what it increments by, exclusive,
//	              on_behind and on_store_rollback: error | warn; not on MySQL and SQLite
//	maxplusone    lock: range | none, ensure_schema, exclusive
//	pseudorandom  as a sequence, up to create and exclusive, and on_store_rollback, lock and table;
//	              start: the first seed, 1 to 2147483646
//	scatter       the same, and key: any text; start: the first number
//	coprime       the same, and length, alphabet: base62 | base32 | the characters, k, grow,
//	              collation: binary; start: from where the first step is made
//	composite     one of worker, worker_env, worker_ordinal, worker_lease: 5s to 1h, and spread:
//	              the name of a value;
//	              length: 20 | 24; store, or store: none; ensure_schema, exclusive
//	recycled      series, lease: 1s to 1h, and as a sequence, up to on_store_rollback but for
//	              follow_explicit
//	snowflake     one of worker, worker_env, worker_ordinal and worker_lease; epoch: 2020-01-01;
//	              bits: 63 | 53, or time_bits, worker_bits, sequence_bits and unit: 1ms;
//	              store, or store: none; ensure_schema, exclusive, on_behind: error | warn
//
// The field table names a table that exists already, and that other programs may go on
// to use. Its row has the name of the state unless row says otherwise; without key, the
// table has one row. stored is required, as the number in value can be the next or the
// last one:
//
//	table: {name: KEYS, key: tableName, row: orders, value: serial, stored: last}  # or stored: next
//	table: {name: order_no, value: n, stored: next, version: changes}              # with lock: optimistic
//
// A scope numbers the rows of each parent from 1. The values of some columns in the
// INSERT identify the parent; each is a column of integers or {column: a, type: text}.
// A scoped sequence is joined, and may have {value:x} in its name: then there is a
// numbering for each value and each parent.
//
// A format makes texts of the numbers, as INV-2026-00042 of INV-{year}-{n:05}. A text
// belongs to one number: a format that does not show the period, or has fields that could be
// cut in two ways, is an error.
//
// See [Source]. A DSN is in no error and not shown when a [Store] is printed.
//
// # Use
//
//	cfg, err := policy.Load("keyfill.yaml") // or LoadFS, Parse, FromEnvironment
//	p, err := cfg.Compile(dialect.PostgreSQL())
//	if rule := p.Match("", "orders"); rule != nil { … }
//
// # Caveats
//
//   - YAML's anchors, aliases, merge keys and tags of one's own are refused; so
//     are several documents in a file and files above 1 MiB.
//   - An alphabet with letters of both cases needs a column that compares by case.
//     MySQL, MariaDB and SQL Server have those only under collation: binary,
//     which is believed here.
//   - A table's layout is not compared with the column's type, which is not
//     known here: BINARY(16) needs "layout: binary", and a comb does not suit
//     MariaDB's uuid type.
//   - A table reached under two names (orders and shop.orders) is one table
//     only if one entry matches both: a bare entry, or a qualified one together
//     with default_schema.
//   - A glob without a schema ("*") matches in all schemas, the schemas of the engine
//     included.
package policy

//row:changes | a field of a source, its description, default and checks | `policy`: the file of its name or kind (`policy/below.go`), and `sourceshape.go`; then `make reference`
