package store

// timeline is the first 8 digits of the name of the current WAL file, which is
// of the new timeline as soon as a standby has been promoted
// (pg_control_checkpoint() may show it after the next checkpoint). There is no
// current one on a standby.
const timeline = "CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"

// PostgreSQL 12 and later.
//
// UPDATE … RETURNING gives values as the UPDATE has left them, and SET reads
// them as they were before it; of two at once the second one waits, and works
// on the row that the first one has committed: PostgreSQL 18 documentation,
// "UPDATE", "Returning Data from Modified Rows" and section 13.2.1.
//
// The identity is that of pg_control_system(), the same on a primary and its
// standbys, and the timeline. Both may be asked for by anybody; together they
// cost 0.03 ms on PostgreSQL 15.18, where a standby that was promoted had the
// same system_identifier and timeline 2.
var postgres = engine{
	tables: [...]string{
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
	},
	servers: []string{
		"(SELECT system_identifier FROM pg_control_system()) || '/' || " + timeline,
		timeline,
	},
	quote:  "'",
	now:    "clock_timestamp()",
	random: "md5(random()::text || clock_timestamp()::text)",
	read: statement{
		`SELECT next_value, incarnation, {server}, table_name, column_name, parameters FROM keyfill_sequences WHERE name = $1`,
		[]param{pName},
	},
	others: statement{
		`SELECT MIN(name) FROM keyfill_sequences WHERE table_name = $1 AND column_name = $2 AND name NOT IN ($3, $4)`,
		[]param{pTable, pColumn, pName, pBinding},
	},
	create: statement{
		`INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)
VALUES ($1, $2, $3, $4, $5, md5(random()::text || clock_timestamp()::text), clock_timestamp())
ON CONFLICT (name) DO UPDATE SET next_value = GREATEST(keyfill_sequences.next_value, excluded.next_value)`,
		[]param{pName, pNext, pTable, pColumn, pParameters},
	},
	advance: statement{
		`UPDATE keyfill_sequences SET next_value = $1, updated_at = clock_timestamp()
WHERE name = $2 AND next_value < $1`,
		[]param{pNext, pName},
	},
	reserve: update{
		statement: statement{
			`UPDATE keyfill_sequences
SET next_value = next_value + $1, updated_at = clock_timestamp()
WHERE name = $2 AND next_value BETWEEN $3 AND $4
RETURNING next_value, incarnation, {server}`,
			[]param{pCount, pName, pFloor, pLimit},
		},
	},
	enrol: statement{
		`INSERT INTO keyfill_workers (name, worker, reserved_until, previous_until, owner, epoch, updated_at)
VALUES ($1, $2, 0, 0, '', 0, clock_timestamp())
ON CONFLICT (name, worker) DO NOTHING`,
		[]param{pName, pWorker},
	},
	mark: update{
		statement: statement{
			`UPDATE keyfill_workers
SET previous_until = reserved_until, reserved_until = GREATEST(reserved_until, $1),
epoch = epoch + CASE WHEN owner = $2 THEN 0 ELSE 1 END, owner = $2, updated_at = clock_timestamp()
WHERE name = $3 AND worker = $4
RETURNING previous_until`,
			[]param{pUntil, pOwner, pName, pWorker},
		},
	},
	maxKey: "SELECT MAX(%s) FROM %s",
}
