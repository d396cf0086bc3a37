package rewrite

// mysqlWords are the words of MySQL and MariaDB.
//
// Transactions: MySQL 8.4 Reference Manual, section 15.3, with the statements that commit
// on the side in 15.3.3; MariaDB Knowledge Base, "SQL statements That Cause an Implicit
// Commit". Functions cannot commit, so SELECT and DO cannot.
//
// The place: USE, DROP DATABASE, and what EXECUTE runs change it; procedures and functions
// put it back, and sql_mode too (section 15.1.17; seen on MariaDB 10.11). Functions may make
// temporary tables.
var mysqlWords = newVocabulary(vocabulary{
	leaves: allLeft,
	calls:  TablesLeft,
	moves:  []string{"use", "execute", "database", "schema"},
}, lists{
	effects: map[effect]string{
		effectNone: `select insert update delete replace with values table show explain describe desc use do
			handler kill help get signal resignal checksum savepoint release deallocate`,
		effectCommits:  "create alter drop truncate rename grant revoke analyze optimize repair check",
		effectBegin:    "begin",
		effectStart:    "start",
		effectEnd:      "commit",
		effectRollback: "rollback",
		effectPrepare:  "prepare",
		effectSet:      "set",
		effectLoad:     "load",
		effectBlock:    "declare if case loop while repeat for",
	},
	kinds: map[statementKind]string{
		statementRows:    "select update delete values",
		statementInsert:  "insert replace",
		statementWith:    "with",
		statementBegin:   "begin start",
		statementExplain: "explain analyze",
		statementSet:     "set",
		statementCreate:  "create",
		statementAlter:   "alter",
		statementDrop:    "drop",
		statementBlock:   "declare if elseif else case when loop while repeat until for",
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
	marks: map[marks]string{
		markBracket: bracketList + notCallList,
		// With a space before the bracket some of the names mean stored functions: MySQL
		// 8.4, section 11.2.5.
		markTouching: builtinList,
		markName:     "into",
		markMakes:    "create execute declare refresh",
		markNames:    "create alter drop",
		markRenames:  "rename sp_rename exchange",
	},
})
