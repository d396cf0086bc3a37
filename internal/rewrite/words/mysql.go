package words

// MySQL is the vocabulary of MySQL and MariaDB.
//
// Transactions: MySQL 8.4 Reference Manual, section 15.3; section 15.3.3 lists the
// statements that commit implicitly; MariaDB Knowledge Base, "SQL statements That Cause an
// Implicit Commit". Functions cannot commit, so SELECT and DO cannot.
//
// USE, DROP DATABASE and statements that EXECUTE runs change the current database. The
// server restores the current database, and sql_mode, after procedures and functions
// (section 15.1.17; seen on MariaDB 10.11). Functions may make temporary tables.
var MySQL = newVocabulary(Vocabulary{
	Leaves: AllLeft,
	Calls:  TablesLeft,
	Moves:  mysqlMoves,
	Moving: Moving{Words: mysqlMoves, Begins: moveVerbs},
	Set:    SetWords{Holds: []string{"statement"}, Unsure: []string{"statement", "password"}},
	Define: DefineWords{Drops: []string{"database", "schema"}},

	Numbers: []SessionNumber{{"lastval", NumberName}},
	Touchy:  ":[",
	Rereads: []string{"sql_mode", "character_set_client"},
}, lists{
	effects: map[Effect]string{
		EffectNone: `select insert update delete replace with values table show explain describe desc use do
			handler kill help get signal resignal checksum savepoint release deallocate`,
		EffectCommits:  "create alter drop truncate rename grant revoke analyze optimize repair check",
		EffectBegin:    "begin",
		EffectStart:    "start",
		EffectEnd:      "commit",
		EffectRollback: "rollback",
		EffectPrepare:  "prepare",
		EffectSet:      "set",
		EffectLoad:     "load",
		EffectBlock:    "declare if case loop while repeat for",
	},
	kinds: map[StatementKind]string{
		StatementRows:    "select update delete values",
		StatementInsert:  "insert replace",
		StatementWith:    "with",
		StatementBegin:   "begin start",
		StatementExplain: "explain analyze",
		StatementSet:     "set",
		StatementCreate:  "create",
		StatementAlter:   "alter",
		StatementDrop:    "drop",
		StatementBlock:   "declare if elseif else case when loop while repeat until for",
	},
	leaves: map[Left]string{
		TablesLeft: "select insert replace update delete with values begin start savepoint release explain analyze",
		PlaceLeft: `select insert update delete replace with values table show explain describe desc do handler kill
			help get signal resignal checksum savepoint release deallocate create alter drop truncate rename grant
			revoke analyze optimize repair check begin start commit rollback prepare set load call lock unlock flush
			reset xa purge install uninstall change stop cache import clone shutdown restart backup
			declare if elseif else case when loop while repeat until for end leave iterate return open fetch close`,
		SettingsLeft:    "select insert replace update delete with values",
		CatalogLeft:     "select insert replace update delete with values explain set show begin start commit savepoint release rollback",
		TransactionLeft: "select insert replace update delete with",
	},
	marks: map[Marks]string{
		MarkBracket: bracketList + notCallList,
		// If a space precedes the bracket, some names of the engine's functions mean stored
		// functions instead: MySQL 8.4, section 11.2.5.
		MarkTouching: builtinList + " last_insert_id",
		MarkName:     "into",
		MarkMakes:    "create execute declare refresh",
		MarkNames:    "create alter drop",
		MarkRenames:  "rename sp_rename exchange",
	},
})

// mysqlMoves are words of which each statement that changes the current database has at
// least one.
var mysqlMoves = []string{"use", "execute", "database", "schema"}
