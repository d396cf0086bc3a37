package engine

// SQLite 3.35 and later.
//
// UPDATE … RETURNING returns its row after the table has been changed, and an error of
// the commit is returned by the step after the last row:
// https://www.sqlite.org/lang_returning.html. max() of several arguments returns the
// greatest of them.
//
// The tables are WITHOUT ROWID, so that last_insert_rowid() still returns the rowid of
// the application's last INSERT: https://www.sqlite.org/c3ref/last_insert_rowid.html.
//
// A statement waits for another writer for the connection's busy_timeout, as the
// application's own INSERT does; then it fails with the driver's error.
var sqlite = Engine{
	Counters: CounterQueries{
		RaiseCounter: "INSERT INTO {table schema}sqlite_sequence (name, seq) SELECT {name}, 0 WHERE NOT EXISTS (SELECT 1 FROM {table schema}sqlite_sequence WHERE name = {name})" +
			"; UPDATE {table schema}sqlite_sequence SET seq = max(seq, {last}) WHERE name = {name}",
		Counter:    "SELECT seq FROM {schema}sqlite_sequence WHERE name = {name}",
		LastNumber: "SELECT seq FROM {schema}sqlite_sequence WHERE name = {name}",
	},
	Tables: [...]string{
		`CREATE TABLE IF NOT EXISTS keyfill_sequences (
	name TEXT NOT NULL PRIMARY KEY,
	next_value INTEGER NOT NULL,
	table_name TEXT NOT NULL,
	column_name TEXT NOT NULL,
	parameters TEXT NOT NULL,
	incarnation TEXT NOT NULL,
	updated_at TEXT NOT NULL
) WITHOUT ROWID`,
		`CREATE TABLE IF NOT EXISTS keyfill_workers (
	name TEXT NOT NULL,
	worker INTEGER NOT NULL,
	reserved_until INTEGER NOT NULL,
	previous_until INTEGER NOT NULL,
	owner TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	updated_at TEXT NOT NULL,
	PRIMARY KEY (name, worker)
) WITHOUT ROWID`,
		`CREATE TABLE IF NOT EXISTS keyfill_series (
	name TEXT NOT NULL,
	series_first INTEGER NOT NULL,
	series_last INTEGER NOT NULL,
	next_value INTEGER NOT NULL,
	owner TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	leased_until TEXT NOT NULL,
	updated_at TEXT NOT NULL,
	PRIMARY KEY (name, series_first)
) WITHOUT ROWID`,
	},
	Expressions: Expressions{
		Quote:  "'",
		Now:    "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
		Random: "lower(hex(randomblob(16)))",
	},
	OpensAtOnce:           true,
	ErrorsKeepTransaction: true,
	Locks: Locks{
		// The UPDATE takes the lock to write: a transaction that has read before it writes
		// does not wait for another connection that writes:
		// https://www.sqlite.org/rescode.html#busy_snapshot.
		Lock: "UPDATE %[1]s SET %[2]s = %[2]s WHERE 0",
	},
	Series: SeriesWords{
		Later: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+' || ({later} / 1000.0) || ' seconds')",
		Past:  "'1970-01-01T00:00:00.000Z'",
		Mark:  "?",
	},
	Proof: Proof{Begin: "BEGIN", Begun: "within a transaction", End: "ROLLBACK"},
	Rows: SequenceStatements{
		Read: Statement{
			`SELECT next_value, incarnation, '', table_name, column_name, parameters FROM keyfill_sequences WHERE name = ?`,
			[]param{pName},
		},
		Others: Statement{
			`SELECT MIN(name) FROM keyfill_sequences WHERE table_name = ? AND column_name = ? AND name NOT IN (?, ?)`,
			[]param{pTable, pColumn, pName, pBinding},
		},
		Create: Statement{
			`INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES (?, ?, ?, ?, ?, lower(hex(randomblob(16))), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (name) DO UPDATE SET next_value = max(next_value, excluded.next_value)`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Make: Statement{
			`INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES (?, ?, ?, ?, ?, lower(hex(randomblob(16))), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (name) DO NOTHING`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Advance: Statement{
			`UPDATE keyfill_sequences SET next_value = ?, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE name = ? AND next_value < ?`,
			[]param{pNext, pName, pNext},
		},
		Reserve: Update{
			Statement: Statement{
				`UPDATE keyfill_sequences
SET next_value = next_value + ?, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE name = ? AND next_value BETWEEN ? AND ?
RETURNING next_value, incarnation, ''`,
				[]param{pCount, pName, pFloor, pLimit},
			},
		},
	},
	Workers: WorkerStatements{
		Enrol: Statement{
			`INSERT INTO keyfill_workers (name, worker, reserved_until, previous_until, owner, epoch, updated_at)
VALUES (?, ?, 0, 0, '', 0, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (name, worker) DO NOTHING`,
			[]param{pName, pWorker},
		},
		Mark: Update{
			Statement: Statement{
				`UPDATE keyfill_workers
SET previous_until = reserved_until, reserved_until = max(reserved_until, ?),
epoch = epoch + CASE WHEN owner = ? THEN 0 ELSE 1 END, owner = ?, updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE name = ? AND worker = ?
RETURNING previous_until`,
				[]param{pUntil, pOwner, pOwner, pName, pWorker},
			},
		},
	},
	Keys: KeyQueries{
		MaxKey: "SELECT MAX(%s)%s FROM %s",
		Texts: TextWords{
			Left: "SUBSTR(%s, 1, %d)", Right: "SUBSTR(%s, -%d)", Length: "LENGTH(%s)",
			Equal:  "%s COLLATE BINARY = %s",
			Digits: "%s NOT GLOB '*[^0-9]*'",
		},
	},
	Words: Wording{
		Place: "?",
		// In SQLite a column of any type may hold values of all types, so a value that is
		// not an integer is read as NULL.
		Digits: "CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s END",
		Answer: answerReturning,
	},
}
