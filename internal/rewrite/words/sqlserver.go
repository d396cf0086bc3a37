package words

// SQLServer is the vocabulary of SQL Server, where a statement may follow another one
// without a semicolon.
//
// Transactions: Transact-SQL reference, "Transactions" and "SET IMPLICIT_TRANSACTIONS". The
// first words matter only at the start of a batch, where a procedure's name alone runs the
// procedure. Words that begin and end transactions are searched for anywhere, and so are
// words that change the database or user. A procedure may change the user, by
// sp_setapprole.
var SQLServer = newVocabulary(Vocabulary{
	Leaves:   AnyWay | NamesLeft | RowsLeft,
	anywhere: setOf(verbs[insertVerbs : len(verbs)-namesVerbs-temporaryVerbs]...),
	Moving:   Moving{Begins: []string{"use", "exec", "execute", "revert", "setuser"}},
	Numbers:  []SessionNumber{{"scope_identity", NumberLast}, {"ident_current", NumberTable}},
}, lists{
	effects: map[Effect]string{
		EffectNone:     sqlserverList,
		EffectDefine:   "create alter",
		EffectBegin:    "begin",
		EffectEnd:      "commit",
		EffectRollback: "rollback",
	},
	leaves: map[Left]string{PlaceLeft: sqlserverList + " create alter begin commit rollback end else"},
	marks: map[Marks]string{
		MarkNames:   "create alter drop",
		MarkRenames: "rename sp_rename exchange",
		MarkMoves:   "use exec execute revert setuser",
	},
})

// sqlserverList holds words that begin statements which leave the transaction as it is.
const sqlserverList = `select insert update delete merge with drop set declare if while print use truncate grant revoke
	deny raiserror throw waitfor backup restore dbcc kill open fetch close deallocate bulk insertbulk
	checkpoint goto return save disable enable add revert receive send readtext writetext updatetext`
