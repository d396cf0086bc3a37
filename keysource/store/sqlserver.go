package store

// SQL Server 2016 and later, and Azure SQL Database.
//
// OUTPUT inserted.x gives the values that the UPDATE has left ("OUTPUT clause
// (Transact-SQL)": INSERTED, and a scalar expression beside it); rows that are
// followed by an error are not to be used. SET reads the values of before
// ("UPDATE (Transact-SQL)").
//
// READCOMMITTEDLOCK has the UPDATE wait for the row and read what was committed
// last, also where row versions are on ("Table hints (Transact-SQL)"). MERGE
// takes the range of a missing name with HOLDLOCK, so that two who make one row
// wait for each other; it ends in a semicolon ("MERGE (Transact-SQL)").
var sqlserver = engine{
	tables: [...]string{
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
	},
	servers: []string{"@@SERVERNAME"},
	quote:   "N'",
	now:     "SYSUTCDATETIME()",
	random:  "CONVERT(nvarchar(40), NEWID())",
	read: statement{
		`SELECT next_value, incarnation, {server}, table_name, column_name, parameters FROM keyfill_sequences WHERE name = @p1`,
		[]param{pName},
	},
	others: statement{
		`SELECT MIN(name) FROM keyfill_sequences WHERE table_name = @p1 AND column_name = @p2 AND name NOT IN (@p3, @p4)`,
		[]param{pTable, pColumn, pName, pBinding},
	},
	create: statement{
		`MERGE INTO keyfill_sequences WITH (HOLDLOCK) AS t
USING (SELECT 1 AS one) AS s ON t.name = @p1
WHEN MATCHED AND t.next_value < @p2 THEN UPDATE SET next_value = @p2
WHEN NOT MATCHED THEN INSERT (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES (@p1, @p2, @p3, @p4, @p5, CONVERT(nvarchar(40), NEWID()), SYSUTCDATETIME());`,
		[]param{pName, pNext, pTable, pColumn, pParameters},
	},
	advance: statement{
		`UPDATE keyfill_sequences WITH (ROWLOCK, READCOMMITTEDLOCK)
SET next_value = @p1, updated_at = SYSUTCDATETIME()
WHERE name = @p2 AND next_value < @p1`,
		[]param{pNext, pName},
	},
	reserve: update{
		statement: statement{
			`UPDATE keyfill_sequences WITH (ROWLOCK, READCOMMITTEDLOCK)
SET next_value = next_value + @p1, updated_at = SYSUTCDATETIME()
OUTPUT inserted.next_value, inserted.incarnation, {server}
WHERE name = @p2 AND next_value BETWEEN @p3 AND @p4`,
			[]param{pCount, pName, pFloor, pLimit},
		},
	},
	enrol: statement{
		`MERGE INTO keyfill_workers WITH (HOLDLOCK) AS t
USING (SELECT 1 AS one) AS s ON t.name = @p1 AND t.worker = @p2
WHEN NOT MATCHED THEN INSERT (name, worker, reserved_until, previous_until, owner, epoch, updated_at)
VALUES (@p1, @p2, 0, 0, N'', 0, SYSUTCDATETIME());`,
		[]param{pName, pWorker},
	},
	mark: update{
		statement: statement{
			`UPDATE keyfill_workers WITH (ROWLOCK, READCOMMITTEDLOCK)
SET previous_until = reserved_until, reserved_until = CASE WHEN reserved_until < @p1 THEN @p1 ELSE reserved_until END,
epoch = epoch + CASE WHEN owner = @p2 THEN 0 ELSE 1 END, owner = @p2, updated_at = SYSUTCDATETIME()
OUTPUT inserted.previous_until
WHERE name = @p3 AND worker = @p4`,
			[]param{pUntil, pOwner, pName, pWorker},
		},
	},
	maxKey: "SELECT MAX(%s) FROM %s",
}
