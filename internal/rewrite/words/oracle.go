package words

// Oracle is the vocabulary of Oracle.
//
// Transactions: Oracle Database SQL Language Reference 23ai, "COMMIT", which lists the
// statements that commit implicitly, "ALTER SESSION" and "SET TRANSACTION". ALTER SESSION
// changes the schema in which the session looks for tables, and blocks and procedures may.
var Oracle = newVocabulary(Vocabulary{
	Leaves: AllLeft &^ (TablesLeft | CatalogLeft),
	Moving: Moving{Words: []string{"current_schema"}},
	Set:    SetWords{Unsure: []string{"statement", "password", "transaction"}},
	Define: DefineWords{Sessions: []string{"session"}},
}, lists{
	effects: map[Effect]string{
		EffectNone:     "select insert update delete merge with explain lock savepoint",
		EffectCommits:  "create alter drop truncate rename grant revoke analyze audit noaudit comment associate disassociate flashback purge",
		EffectEnd:      "commit",
		EffectRollback: "rollback",
		EffectSet:      "set",
		EffectBlock:    "begin declare",
	},
	kinds: map[StatementKind]string{StatementCreate: "create", StatementAlter: "alter"},
	leaves: map[Left]string{
		PlaceLeft: `select insert update delete merge with explain lock savepoint create alter drop truncate rename
			grant revoke analyze audit noaudit comment associate disassociate flashback purge commit rollback set end`,
		SettingsLeft:    "select insert update delete with",
		TransactionLeft: "select insert update delete with",
	},
	marks: map[Marks]string{
		MarkNames:   "create alter drop",
		MarkRenames: "rename sp_rename exchange",
		MarkMoves:   "current_schema",
	},
})
