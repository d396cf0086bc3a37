package words

// SQLite is the vocabulary of SQLite.
//
// Transactions: https://www.sqlite.org/lang_transaction.html, lang_savepoint.html and
// lang_conflict.html: a statement with ROLLBACK as its conflict resolution ends the
// transaction only if it fails. Only ATTACH and DETACH change where SQLite looks for
// tables.
var SQLite = newVocabulary(Vocabulary{
	Leaves:   AllLeft,
	anywhere: setOf("rollback"),
	Moving:   Moving{Words: []string{}}, // SQLite always looks in the schema main first
}, lists{
	effects: map[Effect]string{
		EffectNone:     "select insert replace update delete with values explain pragma drop alter analyze attach detach reindex vacuum",
		EffectDefine:   "create",
		EffectBegin:    "begin",
		EffectEnd:      "commit end",
		EffectRollback: "rollback",
		EffectSave:     "savepoint",
		EffectRelease:  "release",
	},
	kinds: map[StatementKind]string{
		StatementRows:    "select update delete values",
		StatementInsert:  "insert replace",
		StatementWith:    "with",
		StatementBegin:   "begin",
		StatementExplain: "explain analyze",
		StatementCreate:  "create",
		StatementAlter:   "alter",
		StatementDrop:    "drop",
	},
	leaves: map[Left]string{
		TablesLeft: "select insert replace update delete with values begin savepoint release explain analyze",
		PlaceLeft: `select insert replace update delete with values explain pragma drop alter analyze reindex vacuum
			create begin commit end rollback savepoint release`,
		SettingsLeft:    "select insert replace update delete with values",
		CatalogLeft:     "select insert replace update delete with values explain begin commit end savepoint release rollback",
		TransactionLeft: "select insert replace update delete with",
	},
	marks: map[Marks]string{
		MarkMakes:   "create execute declare refresh",
		MarkNames:   "create alter drop",
		MarkRenames: "rename sp_rename exchange",
	},
})
