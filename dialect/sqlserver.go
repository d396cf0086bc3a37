package dialect

// SQLServer returns the facts about SQL Server 2016 and later and Azure SQL.
//
// INSERT: Transact-SQL reference, "INSERT (Transact-SQL)"; identifiers:
// "Database Identifiers"; comments nest: "Slash Star (Block Comment)"; 2,100
// parameters of which sp_executesql takes two: "Maximum Capacity
// Specifications for SQL Server".
func SQLServer() *Dialect { return &sqlserver }

// sqlserverTail is the number in a row's key as 8 bytes. The cast to bigint is needed,
// since a literal beyond 32 bits would be a numeric.
const sqlserverTail = "CAST(CAST({before} AS bigint) + {row} AS binary(8))"

var sqlserver = Dialect{
	Name:   "sqlserver",
	Title:  "SQL Server",
	Family: FamilySQLServer,
	Lexis: Lexis{
		Brackets:        true,
		BracketsDouble:  true,
		StringPrefixes:  "n",
		NestedComments:  true,
		IdentStart:      "#",
		IdentPart:       "#$@",
		DollarWords:     []string{"$node_id", "$edge_id", "$from_id", "$to_id"}, // Transact-SQL reference, "INSERT (SQL Graph)"
		ServerVariables: true,
		UnicodeSpaces:   true,
		ReturnEndsLine:  true,
	},
	Params:  Params{At: true, AtNumber: true, FoldedNames: true, Max: 2098},
	Setting: &quotedIdentifier,
	Grammar: Grammar{
		IntoOptional:    true,
		OmittedParts:    true,
		Top:             true,
		TableHints:      true,
		Output:          true,
		DefaultValues:   true,
		DefaultList:     true,
		Option:          true,
		SelectInto:      true,
		Merge:           true,
		Bulk:            true,
		NoSemicolon:     true,
		Blocks:          true,
		Routines:        []string{"procedure", "proc", "function", "trigger"},
		FunctionTargets: []string{"openquery", "openrowset", "opendatasource"},
		CTETargets:      true,
		CallTargets:     true,
		SessionNames:    "#@",
		RoutineIsRest:   true,
	},
	// Transact-SQL reference, "WITH common_table_expression", "ROW_NUMBER". Error 8115
	// aborts the statement alone.
	Numbering: Numbering{
		Number:     "ROW_NUMBER() OVER (ORDER BY (SELECT NULL))",
		Checked:    "ROW_NUMBER() OVER (ORDER BY (SELECT NULL))",
		Fail:       "CAST(9223372036854775807 AS bigint) + ROW_NUMBER() OVER (ORDER BY (SELECT NULL))",
		FailNumber: 8115,
		Text:       "CAST(% AS varchar(20))",
		// A bigint cast to binary(8) has its highest byte first. A binary(16) cast to
		// uniqueidentifier is stored with the same bytes: Transact-SQL reference,
		// "binary and varbinary", "CAST and CONVERT", style 2.
		Tails: Tails{
			UUID:   "{prefix} + LOWER(CONVERT(char(12), SUBSTRING(" + sqlserverTail + ", 3, 6), 2))",
			ULID:   "{prefix} + CONVERT(char(12), SUBSTRING(" + sqlserverTail + ", 3, 6), 2)",
			TypeID: "{prefix} + LOWER(CONVERT(char(12), SUBSTRING(" + sqlserverTail + ", 3, 6), 2))",
			Binary: "CONVERT(binary(10), {prefix}, 2) + SUBSTRING(" + sqlserverTail + ", 3, 6)",
			AtEnd: "LOWER(CONVERT(char(36), CAST(SUBSTRING(" + sqlserverTail + ", 5, 4) + SUBSTRING(" + sqlserverTail +
				", 3, 2) + CONVERT(binary(10), {prefix}, 2) AS uniqueidentifier)))",
		},
		First:        true,
		NullByTarget: true,
		Ordered:      true,
	},
	Latest:           sqlserverLatest,
	Transactions:     sqlserverTransactions,
	Place:            sqlserverPlace,
	Folding:          FoldCase,
	QuoteOpen:        '[',
	QuoteClose:       ']',
	BinaryOpen:       "0x",
	TextOpen:         "N'",
	AtomicStatements: true,
	First:            "OFFSET 0 ROWS FETCH NEXT {n} ROWS ONLY",
	Caseless:         true,
	PadsText:         true,
	HomeSchema:       "dbo",
	DefaultLayout:    SequentialAtEnd,
	Errors:           sqlserverErrors,
	UnreadCounter:    true,
}
