package engine

import "math"

// SQL Server 2016 and later, and Azure SQL Database.
//
// OUTPUT inserted.x returns the values that the UPDATE has left ("OUTPUT clause
// (Transact-SQL)": INSERTED, and a scalar expression beside it); rows must not be used
// if an error follows them. SET reads the values from before the UPDATE ("UPDATE
// (Transact-SQL)").
//
// READCOMMITTEDLOCK makes the UPDATE wait for the row and read the last committed row,
// also if row versions are turned on ("Table hints (Transact-SQL)"). MERGE with
// HOLDLOCK locks the range of a missing name, so that two transactions that insert one
// row wait for each other; it ends in a semicolon ("MERGE (Transact-SQL)").
var sqlserver = Engine{
	Tables: [...]string{
		`IF OBJECT_ID(N'keyfill_sequences', N'U') IS NULL
CREATE TABLE keyfill_sequences (
	name nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
	next_value bigint NOT NULL,
	table_name nvarchar(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
	column_name nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
	parameters nvarchar(1000) COLLATE Latin1_General_100_BIN2 NOT NULL,
	incarnation nvarchar(40) NOT NULL,
	updated_at datetime2(6) NOT NULL
)`,
		`IF OBJECT_ID(N'keyfill_workers', N'U') IS NULL
CREATE TABLE keyfill_workers (
	name nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
	worker bigint NOT NULL,
	reserved_until bigint NOT NULL,
	previous_until bigint NOT NULL,
	owner nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
	epoch bigint NOT NULL,
	updated_at datetime2(6) NOT NULL,
	PRIMARY KEY (name, worker)
)`,
		`IF OBJECT_ID(N'keyfill_series', N'U') IS NULL
CREATE TABLE keyfill_series (
	name nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
	series_first bigint NOT NULL,
	series_last bigint NOT NULL,
	next_value bigint NOT NULL,
	owner nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
	epoch bigint NOT NULL,
	leased_until datetime2(6) NOT NULL,
	updated_at datetime2(6) NOT NULL,
	PRIMARY KEY (name, series_first)
)`,
	},
	Servers:  []string{"@@SERVERNAME"},
	Database: "DB_NAME()",
	Expressions: Expressions{
		Quote:  "N'",
		Now:    "SYSUTCDATETIME()",
		Random: "CONVERT(nvarchar(40), NEWID())",
	},
	// Style 120 is 2006-01-02 15:04:05 under every language ("CAST and CONVERT
	// (Transact-SQL)").
	Clock: ClockWords{
		Now:     "SYSUTCDATETIME()",
		Text:    "CONVERT(nvarchar(26), SYSUTCDATETIME(), 121)",
		Instant: "CONVERT(datetime2, %s, 120)",
	},
	Series: SeriesWords{
		Later: "DATEADD(millisecond, {later}, SYSUTCDATETIME())",
		Past:  "'19700101'",
		Hint:  " WITH (ROWLOCK, READCOMMITTEDLOCK)",
		Mark:  "@p",
	},
	Locks: Locks{
		// SQL Server refuses READPAST alone under READ_COMMITTED_SNAPSHOT: Transact-SQL
		// reference, "Table Hints". A transaction still reads the rows that it has locked
		// itself.
		SkipLocked: " WITH (READCOMMITTEDLOCK, READPAST)",
		Unlocked:   " WITH (NOLOCK)",
	},
	Proof: Proof{
		Prefix: "IF @@TRANCOUNT > 0 OR @@OPTIONS & 2 = 2\n",
		Ask:    "SELECT CASE WHEN @@TRANCOUNT > 0 OR @@OPTIONS & 2 = 2 THEN 1 ELSE 0 END",
	},
	Rows: SequenceStatements{
		Read: Statement{
			`SELECT next_value, incarnation, {server}, table_name, column_name, parameters FROM keyfill_sequences WHERE name = @p1`,
			[]param{pName},
		},
		Others: Statement{
			`SELECT MIN(name) FROM keyfill_sequences WHERE table_name = @p1 AND column_name = @p2 AND name NOT IN (@p3, @p4)`,
			[]param{pTable, pColumn, pName, pBinding},
		},
		Create: Statement{
			`MERGE INTO keyfill_sequences WITH (HOLDLOCK) AS t
USING (SELECT 1 AS one) AS s ON t.name = @p1
WHEN MATCHED AND t.next_value < @p2 THEN UPDATE SET next_value = @p2
WHEN NOT MATCHED THEN INSERT (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES (@p1, @p2, @p3, @p4, @p5, CONVERT(nvarchar(40), NEWID()), SYSUTCDATETIME());`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		// HOLDLOCK would wait for a transaction that has locked the row with the next name. Of
		// two sessions that insert one row at once, one gets an error, and the row is there.
		Make: Statement{
			`INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
SELECT @p1, @p2, @p3, @p4, @p5, CONVERT(nvarchar(40), NEWID()), SYSUTCDATETIME()
WHERE NOT EXISTS (SELECT 1 FROM keyfill_sequences WHERE name = @p1)`,
			[]param{pName, pNext, pTable, pColumn, pParameters},
		},
		Advance: Statement{
			`UPDATE keyfill_sequences WITH (ROWLOCK, READCOMMITTEDLOCK)
SET next_value = CASE WHEN next_value < @p1 THEN @p1 ELSE next_value END, updated_at = SYSUTCDATETIME()
WHERE name = @p2`,
			[]param{pNext, pName},
		},
		Reserve: Update{
			Statement: Statement{
				`UPDATE keyfill_sequences WITH (ROWLOCK, READCOMMITTEDLOCK)
SET next_value = next_value + @p1, updated_at = SYSUTCDATETIME()
OUTPUT inserted.next_value, inserted.incarnation, {server}
WHERE name = @p2 AND next_value BETWEEN @p3 AND @p4`,
				[]param{pCount, pName, pFloor, pLimit},
			},
		},
	},
	Workers: WorkerStatements{
		Enrol: Statement{
			`MERGE INTO keyfill_workers WITH (HOLDLOCK) AS t
USING (SELECT 1 AS one) AS s ON t.name = @p1 AND t.worker = @p2
WHEN NOT MATCHED THEN INSERT (name, worker, reserved_until, previous_until, owner, epoch, updated_at)
VALUES (@p1, @p2, 0, 0, N'', 0, SYSUTCDATETIME());`,
			[]param{pName, pWorker},
		},
		Mark: Update{
			Statement: Statement{
				`UPDATE keyfill_workers WITH (ROWLOCK, READCOMMITTEDLOCK)
SET previous_until = reserved_until, reserved_until = CASE WHEN reserved_until < @p1 THEN @p1 ELSE reserved_until END,
epoch = epoch + CASE WHEN owner = @p2 THEN 0 ELSE 1 END, owner = @p2, updated_at = SYSUTCDATETIME()
OUTPUT inserted.previous_until
WHERE name = @p3 AND worker = @p4`,
				[]param{pUntil, pOwner, pName, pWorker},
			},
		},
	},
	Keys: KeyQueries{
		MaxKey: "SELECT MAX(%s)%s FROM %s",
		Texts: TextWords{
			Left: "LEFT(%s, %d)", Right: "RIGHT(%s, %d)", Length: "LEN(%s)",
			Equal:  "%s COLLATE Latin1_General_BIN2 = %s",
			Digits: "%s COLLATE Latin1_General_BIN2 NOT LIKE '%%[^0-9]%%'",
		},
	},
	Words: Wording{
		Place:    "@p%d",
		Hint:     " WITH (ROWLOCK, READCOMMITTEDLOCK)",
		LockHint: " WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)",
		Answer:   answerOutput,
		ColumnType: Statement{
			`SELECT CASE WHEN TYPE_NAME(system_type_id) IN (N'decimal', N'numeric')
THEN CONCAT(TYPE_NAME(system_type_id), N'(', precision, N',', scale, N')') ELSE TYPE_NAME(system_type_id) END
FROM sys.columns WHERE object_id = OBJECT_ID(@p1) AND name = @p2`,
			[]param{pName, pColumn},
		},
		Integers: map[string]int64{
			"tinyint": math.MaxUint8, "smallint": math.MaxInt16, "int": math.MaxInt32, "bigint": math.MaxInt64,
		},
		Versions: map[string]VersionWording{
			"timestamp": rowVersion,
		},
	},
	Procedures: Procedures{
		Call:                 "EXEC %s @p1, @p2",
		CallNeedsTransaction: true,
		FindProcedure:        "SELECT OBJECT_ID(N'keyfill_reserve', N'P')",
		Procedure: withWords(`CREATE OR ALTER PROCEDURE keyfill_reserve @name nvarchar(190), @count bigint
AS
BEGIN
	SET NOCOUNT ON;
	SET ROWCOUNT 0;
	DECLARE @first bigint, @changed int;
	IF @count IS NULL OR @count < 1
		THROW 50000, N'{count}', 1;
	UPDATE keyfill_sequences WITH (ROWLOCK, READCOMMITTEDLOCK)
	SET @first = next_value, next_value = next_value + @count, updated_at = SYSUTCDATETIME()
	WHERE name = @name;
	SET @changed = @@ROWCOUNT;
	IF @changed <> 1
		THROW 50000, N'{row}', 1;
	SELECT @first;
END`),
	},
}

// rowVersion is for a version column of type rowversion, which is also called
// timestamp: the engine changes it with every UPDATE ("rowversion (Transact-SQL)").
var rowVersion = VersionWording{
	Read:    "CONVERT(bigint, %[1]s)",
	Compare: "CONVERT(bigint, %[1]s) = %[2]s",
}
