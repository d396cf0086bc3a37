package dialect

// SQLServer returns the facts about SQL Server 2016 and later and Azure SQL.
//
// INSERT: Transact-SQL reference, "INSERT (Transact-SQL)"; identifiers:
// "Database Identifiers"; comments nest: "Slash Star (Block Comment)"; 2,100
// parameters of which sp_executesql takes two: "Maximum Capacity
// Specifications for SQL Server".
func SQLServer() *Dialect { return &sqlserver }

var sqlserver = Dialect{
	Name:  "sqlserver",
	Title: "SQL Server",
	Lexis: Lexis{
		Brackets:       true,
		BracketsDouble: true,
		StringPrefixes: "n",
		NestedComments: true,
		IdentStart:     "#",
		IdentPart:      "#$@",
	},
	Params: Params{At: true, AtNumber: true, Max: 2098},
	Grammar: Grammar{
		IntoOptional:  true,
		OmittedParts:  true,
		Top:           true,
		TableHints:    true,
		Output:        true,
		DefaultValues: true,
		LeadingWith:   true,
		Option:        true,
		Merge:         true,
		NoSemicolon:   true,
		Blocks:        true,
	},
	Folding:       FoldCase,
	QuoteOpen:     '[',
	QuoteClose:    ']',
	BinaryOpen:    "0x",
	DefaultLayout: SequentialAtEnd,
}
