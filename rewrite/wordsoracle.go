package rewrite

// oracleWords are the words of Oracle.
//
// Transactions: Oracle Database SQL Language Reference 23ai, "COMMIT", which lists what
// commits on the side, "ALTER SESSION" and "SET TRANSACTION". The place: ALTER SESSION
// changes it, and so may blocks and procedures.
var oracleWords = newVocabulary(vocabulary{leaves: allLeft &^ (TablesLeft | CatalogLeft)}, lists{
	effects: map[effect]string{
		effectNone:     "select insert update delete merge with explain lock savepoint",
		effectCommits:  "create alter drop truncate rename grant revoke analyze audit noaudit comment associate disassociate flashback purge",
		effectEnd:      "commit",
		effectRollback: "rollback",
		effectSet:      "set",
		effectBlock:    "begin declare",
	},
	kinds: map[statementKind]string{statementCreate: "create", statementAlter: "alter"},
	leaves: map[Left]string{
		PlaceLeft: `select insert update delete merge with explain lock savepoint create alter drop truncate rename
			grant revoke analyze audit noaudit comment associate disassociate flashback purge commit rollback set end`,
		SettingsLeft:    "select insert update delete with",
		TransactionLeft: "select insert update delete with",
	},
	marks: map[marks]string{
		markNames:   "create alter drop",
		markRenames: "rename sp_rename exchange",
		markMoves:   "current_schema",
	},
})
