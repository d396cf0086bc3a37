package rewrite

// sqliteWords are the words of SQLite.
//
// Transactions: https://www.sqlite.org/lang_transaction.html, lang_savepoint.html and
// lang_conflict.html: a statement with ROLLBACK as a conflict's resolution ends the
// transaction only if it fails. The place: ATTACH and DETACH change it, and nothing else
// does.
var sqliteWords = newVocabulary(vocabulary{
	leaves:   allLeft,
	anywhere: setOf("rollback"),
}, lists{
	effects: map[effect]string{
		effectNone:     "select insert replace update delete with values explain pragma drop alter analyze attach detach reindex vacuum",
		effectDefine:   "create",
		effectBegin:    "begin",
		effectEnd:      "commit end",
		effectRollback: "rollback",
		effectSave:     "savepoint",
		effectRelease:  "release",
	},
	kinds: map[statementKind]string{
		statementRows:    "select update delete values",
		statementInsert:  "insert replace",
		statementWith:    "with",
		statementBegin:   "begin",
		statementExplain: "explain analyze",
		statementCreate:  "create",
		statementAlter:   "alter",
		statementDrop:    "drop",
	},
	leaves: map[Left]string{
		TablesLeft: "select insert replace update delete with values begin savepoint release explain analyze",
		PlaceLeft: `select insert replace update delete with values explain pragma drop alter analyze reindex vacuum
			create begin commit end rollback savepoint release`,
		SettingsLeft:    "select insert replace update delete with values",
		CatalogLeft:     "select insert replace update delete with values explain begin commit end savepoint release rollback",
		TransactionLeft: "select insert replace update delete with",
	},
	marks: map[marks]string{
		markMakes:   "create execute declare refresh",
		markNames:   "create alter drop",
		markRenames: "rename sp_rename exchange",
	},
})
