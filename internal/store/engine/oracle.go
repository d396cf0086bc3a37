package engine

// Oracle Database 12c and later.
//
// UPDATE … RETURNING … INTO returns the values that the UPDATE has left. Its
// expressions must be simple, so they are columns, and the server's name is first
// stored in one of them (Oracle Database SQL Language Reference, "UPDATE",
// returning_clause and its restrictions). RETURNING and INTO stand on one line, because
// go-ora looks for them there (v2.8.24, command.go).
//
// Before 23ai there is no CREATE TABLE IF NOT EXISTS: ORA-00955 says that the name is
// in use. An empty text is NULL, so columns that may be empty allow NULL. Integers are
// read as their digits, which are the same from every driver.
var oracle = Engine{
	Tables: [...]string{
		`BEGIN
	EXECUTE IMMEDIATE 'CREATE TABLE keyfill_sequences (
	name VARCHAR2(190 CHAR) NOT NULL PRIMARY KEY,
	next_value NUMBER(19) NOT NULL,
	table_name VARCHAR2(300 CHAR),
	column_name VARCHAR2(190 CHAR),
	parameters VARCHAR2(1000 CHAR),
	incarnation VARCHAR2(40 CHAR) NOT NULL,
	server VARCHAR2(128 CHAR),
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL
)';
EXCEPTION
	WHEN OTHERS THEN
		IF SQLCODE <> -955 THEN RAISE; END IF;
END;`,
		`BEGIN
	EXECUTE IMMEDIATE 'CREATE TABLE keyfill_workers (
	name VARCHAR2(190 CHAR) NOT NULL,
	worker NUMBER(19) NOT NULL,
	reserved_until NUMBER(19) NOT NULL,
	previous_until NUMBER(19) NOT NULL,
	owner VARCHAR2(190 CHAR),
	epoch NUMBER(19) NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (name, worker)
)';
EXCEPTION
	WHEN OTHERS THEN
		IF SQLCODE <> -955 THEN RAISE; END IF;
END;`,
		`BEGIN
	EXECUTE IMMEDIATE 'CREATE TABLE keyfill_series (
	name VARCHAR2(190 CHAR) NOT NULL,
	series_first NUMBER(19) NOT NULL,
	series_last NUMBER(19) NOT NULL,
	next_value NUMBER(19) NOT NULL,
	owner VARCHAR2(190 CHAR),
	epoch NUMBER(19) NOT NULL,
	leased_until TIMESTAMP WITH TIME ZONE NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (name, series_first)
)';
EXCEPTION
	WHEN OTHERS THEN
		IF SQLCODE <> -955 THEN RAISE; END IF;
END;`,
	},
	Servers: []string{"SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME')"},
	Expressions: Expressions{
		Quote:  "'",
		Dual:   " FROM dual",
		Now:    "SYSTIMESTAMP",
		Random: "RAWTOHEX(SYS_GUID())",
	},
	Database: "SYS_CONTEXT('USERENV', 'DB_NAME')",
	Clock: ClockWords{
		Now:     "SYS_EXTRACT_UTC(SYSTIMESTAMP)",
		Text:    "TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6')",
		Instant: "TO_TIMESTAMP(%s, 'YYYY-MM-DD HH24:MI:SS')",
	},
	Series: SeriesWords{
		Later:  "SYSTIMESTAMP + NUMTODSINTERVAL({later} / 1000, 'SECOND')",
		Past:   "TIMESTAMP '1970-01-01 00:00:00 +00:00'",
		Digits: "TO_CHAR",
		Mark:   ":",
	},
	Rows: SequenceStatements{
		Read: Statement{
			`SELECT TO_CHAR(next_value), incarnation, SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME'), table_name, column_name, parameters FROM keyfill_sequences WHERE name = :1`,
			[]param{pName},
		},
		Others: Statement{
			`SELECT MIN(name) FROM keyfill_sequences WHERE table_name = :1 AND column_name = :2 AND name NOT IN (:3, :4)`,
			[]param{pTable, pColumn, pName, pBinding},
		},
		Create: Statement{
			`MERGE INTO keyfill_sequences t
USING (SELECT :1 AS name, :2 AS next_value FROM dual) s ON (t.name = s.name)
WHEN MATCHED THEN UPDATE SET t.next_value = GREATEST(t.next_value, s.next_value)
WHEN NOT MATCHED THEN INSERT (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES (s.name, s.next_value, :3, :4, :5, RAWTOHEX(SYS_GUID()), SYSTIMESTAMP)`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Make: Statement{
			`MERGE INTO keyfill_sequences t
USING (SELECT :1 AS name, :2 AS next_value FROM dual) s ON (t.name = s.name)
WHEN NOT MATCHED THEN INSERT (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES (s.name, s.next_value, :3, :4, :5, RAWTOHEX(SYS_GUID()), SYSTIMESTAMP)`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Advance: Statement{
			`UPDATE keyfill_sequences SET next_value = GREATEST(next_value, :1), updated_at = SYSTIMESTAMP
WHERE name = :2`,
			[]param{pNext, pName},
		},
		Reserve: Update{
			Statement: Statement{
				`UPDATE keyfill_sequences
SET next_value = next_value + :1, server = SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME'), updated_at = SYSTIMESTAMP
WHERE name = :2 AND next_value BETWEEN :3 AND :4
RETURNING next_value, incarnation, server INTO :5, :6, :7`,
				[]param{pCount, pName, pFloor, pLimit},
			},
			Into: []Kind{IntegerKind, TextKind, TextKind},
		},
	},
	Workers: WorkerStatements{
		Enrol: Statement{
			`MERGE INTO keyfill_workers t
USING (SELECT :1 AS name, :2 AS worker FROM dual) s ON (t.name = s.name AND t.worker = s.worker)
WHEN NOT MATCHED THEN INSERT (name, worker, reserved_until, previous_until, owner, epoch, updated_at)
VALUES (s.name, s.worker, 0, 0, NULL, 0, SYSTIMESTAMP)`,
			[]param{pName, pWorker},
		},
		Mark: Update{
			Statement: Statement{
				`UPDATE keyfill_workers
SET previous_until = reserved_until, reserved_until = GREATEST(reserved_until, :1),
epoch = epoch + CASE WHEN owner = :2 THEN 0 ELSE 1 END, owner = :3, updated_at = SYSTIMESTAMP
WHERE name = :4 AND worker = :5
RETURNING previous_until INTO :6`,
				[]param{pUntil, pOwner, pOwner, pName, pWorker},
			},
			Into: []Kind{IntegerKind},
		},
	},
	Keys: KeyQueries{
		MaxKey: "SELECT TO_CHAR(MAX(%s))%s FROM %s",
		Texts: TextWords{
			Left: "SUBSTR(%s, 1, %d)", Right: "SUBSTR(%s, -%d)", Length: "LENGTH(%s)",
			Equal:  "NLSSORT(%s, 'NLS_SORT=BINARY') = NLSSORT(%s, 'NLS_SORT=BINARY')",
			Digits: "REGEXP_LIKE(%s, '^[0-9]+$')",
		},
	},
	Words: Wording{
		Place:   ":%d",
		Digits:  "TO_CHAR(%s)",
		LockEnd: " FOR UPDATE",
		Answer:  answerInto,
		ColumnType: Statement{
			`SELECT data_type || '(' || data_precision || ',' || data_scale || ')' FROM all_tab_columns
WHERE owner = COALESCE(:1, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')) AND table_name = :2 AND column_name = :3`,
			[]param{pSchema, pTable, pColumn},
		},
	},
	Procedures: Procedures{
		Call:          "SELECT TO_CHAR(%s(:1, :2)) FROM dual",
		CallCommits:   true,
		FindProcedure: "SELECT MIN(object_name) FROM user_procedures WHERE object_name = 'KEYFILL_RESERVE'",
		Procedure: withWords(`CREATE OR REPLACE FUNCTION keyfill_reserve(p_name IN VARCHAR2, p_count IN NUMBER) RETURN NUMBER IS
	PRAGMA AUTONOMOUS_TRANSACTION;
	v_first NUMBER;
	v_changed NUMBER;
BEGIN
	IF p_count IS NULL OR p_count < 1 OR p_count <> TRUNC(p_count) THEN
		RAISE_APPLICATION_ERROR(-20000, '{count}');
	END IF;
	UPDATE keyfill_sequences
	SET next_value = next_value + p_count, server = SYS_CONTEXT('USERENV', 'DB_UNIQUE_NAME'), updated_at = SYSTIMESTAMP
	WHERE name = p_name
	RETURNING next_value - p_count INTO v_first;
	v_changed := SQL%ROWCOUNT;
	IF v_changed <> 1 THEN
		RAISE_APPLICATION_ERROR(-20000, '{row}');
	END IF;
	COMMIT WRITE IMMEDIATE WAIT;
	RETURN v_first;
EXCEPTION
	WHEN OTHERS THEN
		ROLLBACK;
		RAISE;
END;`),
	},
}
