package dialect

// MySQL returns the facts about MySQL 8 and 9.
//
// Lexical rules: MySQL 8.4 Reference Manual, chapter 11 (Language Structure);
// INSERT: section 15.2.7, REPLACE: 15.2.12; the 65,535 parameters of a
// prepared statement: the 16-bit count of COM_STMT_PREPARE_OK.
func MySQL() *Dialect { return &mysql }

// MariaDB returns the facts about MariaDB 10.5 and later, which has
// RETURNING and runs the comments of MySQL and its own.
//
// Lexical rules: MariaDB Knowledge Base, "Comment Syntax" and "Identifier
// Names"; INSERT: "INSERT" and "INSERT … RETURNING".
func MariaDB() *Dialect { return &mariadb }

var mysql = Dialect{
	Name:  "mysql",
	Title: "MySQL",
	Lexis: Lexis{
		DoubleQuotedStrings: true,
		Backticks:           true,
		BackslashEscapes:    true,
		BackslashNull:       true,
		StringPrefixes:      "nbx",
		HashComments:        true,
		DashNeedsSpace:      true,
		ExecutableComments:  []string{"/*!"},
		IdentStart:          "$",
		IdentPart:           "$",
		DigitIdents:         true,
		UserVariables:       true,
		ServerVariables:     true,
	},
	Params: Params{Question: true, ByPosition: true, Max: 65535},
	Grammar: Grammar{
		Replace:        true,
		IntoOptional:   true,
		OmittedParts:   true,
		Modifiers:      []string{"low_priority", "delayed", "high_priority", "ignore"},
		Partition:      true,
		Set:            true,
		EmptyLists:     true,
		ValueWord:      true,
		RowWord:        true,
		RowAlias:       true,
		OnDuplicateKey: true,
		Load:           true,
		PrepareText:    true,
		Blocks:         true,
		Routines:       []string{"procedure", "function", "trigger", "event", "package"},
	},
	Folding:       FoldCase,
	QuoteOpen:     '`',
	QuoteClose:    '`',
	BinaryOpen:    "X'",
	BinaryClose:   "'",
	DefaultLayout: SequentialAsString,
	ZeroIsNoKey:   true,
	// Error 1062; since 8.0.19 with the table in front of the index.
	DuplicateKey: []string{"for key '%'"},
}

var mariadb = func() Dialect {
	d := mysql
	d.Name = "mariadb"
	d.Title = "MariaDB"
	d.Lexis.ExecutableComments = []string{"/*!", "/*M!"}
	d.Grammar.RowWord = false
	d.Grammar.RowAlias = false
	d.Grammar.Returning = true
	return d
}()
