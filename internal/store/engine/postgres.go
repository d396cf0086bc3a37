package engine

import "math"

// timeline is an expression for the first 8 digits of the name of the current WAL file.
// They show the new timeline as soon as a standby has been promoted, while
// pg_control_checkpoint() may show it only after the next checkpoint. A standby has no
// current WAL file.
const timeline = "CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"

// PostgreSQL 12 and later.
//
// UPDATE … RETURNING returns values as the UPDATE has left them, and SET reads values
// as they were before it. Of two UPDATEs at once, the second one waits, and then
// changes the row that the first one has committed: PostgreSQL 18 documentation,
// "UPDATE", "Returning Data from Modified Rows" and section 13.2.1.
//
// The server's identity consists of the system identifier of pg_control_system(), which
// is the same on a primary and its standbys, and of the timeline. Any user may ask for
// both; together they cost 0.03 ms on PostgreSQL 15.18, where a standby that was
// promoted had the same system_identifier and timeline 2.
var postgres = Engine{
	Tables: [...]string{
		`CREATE TABLE IF NOT EXISTS keyfill_sequences (
	name varchar(190) COLLATE "C" NOT NULL PRIMARY KEY,
	next_value bigint NOT NULL,
	table_name varchar(300) COLLATE "C" NOT NULL,
	column_name varchar(190) COLLATE "C" NOT NULL,
	parameters varchar(1000) COLLATE "C" NOT NULL,
	incarnation varchar(40) COLLATE "C" NOT NULL,
	updated_at timestamptz NOT NULL
)`,
		`CREATE TABLE IF NOT EXISTS keyfill_workers (
	name varchar(190) COLLATE "C" NOT NULL,
	worker bigint NOT NULL,
	reserved_until bigint NOT NULL,
	previous_until bigint NOT NULL,
	owner varchar(190) COLLATE "C" NOT NULL,
	epoch bigint NOT NULL,
	updated_at timestamptz NOT NULL,
	PRIMARY KEY (name, worker)
)`,
		`CREATE TABLE IF NOT EXISTS keyfill_series (
	name varchar(190) COLLATE "C" NOT NULL,
	series_first bigint NOT NULL,
	series_last bigint NOT NULL,
	next_value bigint NOT NULL,
	owner varchar(190) COLLATE "C" NOT NULL,
	epoch bigint NOT NULL,
	leased_until timestamptz NOT NULL,
	updated_at timestamptz NOT NULL,
	PRIMARY KEY (name, series_first)
)`,
	},
	Servers: []string{
		"(SELECT system_identifier FROM pg_control_system()) || '/' || " + timeline,
		timeline,
	},
	Database: "current_database()",
	Expressions: Expressions{
		Quote:  "'",
		Now:    "clock_timestamp()",
		Random: "md5(random()::text || clock_timestamp()::text)",
	},
	// now() is the time at which the transaction began, and clock_timestamp() advances within
	// a statement: PostgreSQL 18 documentation, section 9.9.5. A text of this form means the
	// same under every DateStyle.
	Clock: ClockWords{
		Now:     "statement_timestamp()",
		Text:    "to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
		Instant: "CAST(%s AS timestamptz)",
		Zone:    "+00",
	},
	Series: SeriesWords{
		Later:  "clock_timestamp() + CAST({later} AS bigint) * interval '1 millisecond'",
		Past:   "'1970-01-01 00:00:00+00'",
		Mark:   "$",
		Number: "CAST(%s AS bigint)",
	},
	OpensAtOnce: true,
	TwoWay:      postgresTwoWay,
	Proof: Proof{
		Condition: "current_setting('keyfill.tx', true) = '1'",
		Mark:      "SELECT set_config('keyfill.tx', '1', true)",
		Ask:       "SELECT CASE WHEN current_setting('keyfill.tx', true) = '1' THEN 1 ELSE 0 END",
		TellsEnd:  true,
	},
	Rows: SequenceStatements{
		Read: Statement{
			`SELECT next_value, incarnation, {server}, table_name, column_name, parameters FROM keyfill_sequences WHERE name = $1`,
			[]param{pName},
		},
		Others: Statement{
			`SELECT MIN(name) FROM keyfill_sequences WHERE table_name = $1 AND column_name = $2 AND name NOT IN ($3, $4)`,
			[]param{pTable, pColumn, pName, pBinding},
		},
		Create: Statement{
			`INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES ($1, $2, $3, $4, $5, md5(random()::text || clock_timestamp()::text), clock_timestamp())
ON CONFLICT (name) DO UPDATE SET next_value = GREATEST(keyfill_sequences.next_value, excluded.next_value)`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Make: Statement{
			`INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES ($1, $2, $3, $4, $5, md5(random()::text || clock_timestamp()::text), clock_timestamp())
ON CONFLICT (name) DO NOTHING`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Advance: Statement{
			`UPDATE keyfill_sequences SET next_value = GREATEST(next_value, $1), updated_at = clock_timestamp()
WHERE name = $2`,
			[]param{pNext, pName},
		},
		Raise: Statement{
			`UPDATE keyfill_sequences SET next_value = $1, updated_at = clock_timestamp()
WHERE name = $2 AND next_value < $1`,
			[]param{pNext, pName},
		},
		Reserve: Update{
			Statement: Statement{
				`UPDATE keyfill_sequences
SET next_value = next_value + $1, updated_at = clock_timestamp()
WHERE name = $2 AND next_value BETWEEN $3 AND $4
RETURNING next_value, incarnation, {server}`,
				[]param{pCount, pName, pFloor, pLimit},
			},
		},
	},
	Workers: WorkerStatements{
		Enrol: Statement{
			`INSERT INTO keyfill_workers (name, worker, reserved_until, previous_until, owner, epoch, updated_at)
VALUES ($1, $2, 0, 0, '', 0, clock_timestamp())
ON CONFLICT (name, worker) DO NOTHING`,
			[]param{pName, pWorker},
		},
		Mark: Update{
			Statement: Statement{
				`UPDATE keyfill_workers
SET previous_until = reserved_until, reserved_until = GREATEST(reserved_until, $1),
epoch = epoch + CASE WHEN owner = $2 THEN 0 ELSE 1 END, owner = $2, updated_at = clock_timestamp()
WHERE name = $3 AND worker = $4
RETURNING previous_until`,
				[]param{pUntil, pOwner, pName, pWorker},
			},
		},
	},
	Keys: KeyQueries{
		MaxKey: "SELECT MAX(%s)%s FROM %s",
		Texts: TextWords{
			Left: "LEFT(%s, %d)", Right: "RIGHT(%s, %d)", Length: "CHAR_LENGTH(%s)",
			Equal:  `CAST(%s AS text) COLLATE "C" = CAST(%s AS text)`,
			Digits: `CAST(%s AS text) COLLATE "C" ~ '^[0-9]+$'`,
		},
		// Only under these isolation levels does each statement see all committed rows:
		// PostgreSQL 18 documentation, section 13.2. A foreign table may show the rows as
		// they were when the transaction first asked for any ("postgres_fdw", "Transaction
		// Management"), and a partition may be a foreign table. A view may hide rows that row
		// security hides in its tables. YugabyteDB may report "read committed" and show the
		// rows as they were at the first statement ("Transaction isolation levels" in its
		// documentation).
		Current: `CASE WHEN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_foreign_table)
AND EXISTS (SELECT 1 FROM pg_catalog.pg_class c WHERE c.oid = CAST(%s AS regclass) AND c.relkind IN ('r', 'p'))
AND version() NOT LIKE '%%-YB-%%' THEN 1 ELSE 0 END`,
		Hides: "CASE WHEN row_security_active(%s) THEN 1 ELSE 0 END",
	},
	Path: PathQueries{
		// A user without the right to use a schema does not find its tables: PostgreSQL 18
		// documentation, section 5.10.3. The setting search_path has the names as they were
		// written, in quotes or not.
		HiddenSchema: `SELECT CAST(n.nspname AS text), CAST(current_user AS text)
FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('search_path'), ',')) WITH ORDINALITY AS w (name, place)
JOIN pg_catalog.pg_namespace n ON pg_catalog.btrim(w.name) IN (n.nspname, pg_catalog.quote_ident(n.nspname), '"' || n.nspname || '"')
OR pg_catalog.lower(pg_catalog.btrim(w.name)) = n.nspname OR pg_catalog.btrim(w.name) IN ('$user', '"$user"') AND n.nspname = current_user
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'keyfill_sequences' AND c.relkind IN ('r', 'p')
WHERE NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE')
ORDER BY w.place LIMIT 1`,
		PathLength: "SELECT pg_catalog.cardinality(pg_catalog.current_schemas(false))",
		Holders: `SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'keyfill_sequences' AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
AND pg_catalog.cardinality(pg_catalog.current_schemas(false)) = 0
ORDER BY n.nspname`,
	},
	Locks: Locks{
		// See "Explicit Locking" and pg_locks in the manual.
		OwnLocks: `SELECT COUNT(CASE WHEN c.relkind <> 'S' THEN 1 END), COUNT(CASE WHEN c.relkind = 'S' THEN 1 END)
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_class c ON c.oid = l.relation AND c.relpersistence <> 't'
LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
LEFT JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
WHERE l.locktype = 'relation' AND l.pid = pg_catalog.pg_backend_pid() AND l.granted
AND CASE c.relkind WHEN 'S' THEN l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
ELSE l.mode = 'AccessExclusiveLock' AND (c.relname IN (%[1]s) OR p.relname IN (%[1]s)) END`,
	},
	Words: Wording{
		Place: "$%d",
		// Without the cast, PostgreSQL would give the argument the column's type.
		Integer: "CAST(%s AS bigint)",
		LockEnd: " FOR UPDATE",
		Answer:  answerReturning,
		ColumnType: Statement{
			`SELECT format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), CASE WHEN t.typbasetype = 0 THEN a.atttypmod ELSE t.typtypmod END)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(CAST($1 AS text)) AND a.attname = CAST($2 AS text) AND a.attnum > 0 AND NOT a.attisdropped`,
			[]param{pName, pColumn},
		},
		Integers: map[string]int64{"smallint": math.MaxInt16, "integer": math.MaxInt32, "bigint": math.MaxInt64},
		Versions: map[string]VersionWording{
			"timestamp without time zone": postgresTime,
			"timestamp with time zone":    postgresTime,
		},
	},
	Procedures: Procedures{
		Call:          "SELECT %s($1, $2), {server}",
		FindProcedure: "SELECT CAST(to_regprocedure('keyfill_reserve(text,bigint)') AS text)",
		Procedure: withWords(`CREATE OR REPLACE FUNCTION keyfill_reserve(p_name text, p_count bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	v_first bigint;
	v_changed bigint;
BEGIN
	IF p_count IS NULL OR p_count < 1 THEN
		RAISE EXCEPTION '{count}' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	UPDATE keyfill_sequences
	SET next_value = next_value + p_count, updated_at = clock_timestamp()
	WHERE name = p_name
	RETURNING next_value - p_count INTO v_first;
	GET DIAGNOSTICS v_changed = ROW_COUNT;
	IF v_changed <> 1 THEN
		RAISE EXCEPTION '{row}' USING ERRCODE = 'no_data_found';
	END IF;
	RETURN v_first;
END
$$`),
	},
}

// postgresTime is for a version column that holds a time, with or without a time zone.
// Read as text, the time is the same on all connections of a pool.
var postgresTime = VersionWording{
	Read:    "CAST(%[1]s AS text)",
	Compare: "CAST(%[1]s AS text) = %[2]s",
	Move:    "GREATEST(CAST(clock_timestamp() AS %[4]s), %[1]s + interval '%[2]d microseconds')",
}
