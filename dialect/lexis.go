package dialect

// Lexis holds how an engine splits text into tokens.
type Lexis struct {
	DoubleQuotedStrings bool // "…" is a string, not an identifier
	Backticks           bool // `…` is an identifier
	Brackets            bool // […] is an identifier
	BracketsDouble      bool // ]] inside […] stands for one ]

	BackslashEscapes bool // \' does not end a string '…'
	EscapeStrings    bool // E'…' has backslash escapes, also in its continuation on the next line
	UnicodeStrings   bool // U&'…' and U&"…"
	QuoteOperator    bool // q'[…]' and nq'[…]'
	DollarQuotes     bool // $tag$…$tag$
	ColonCasts       bool // x::type

	// DateCasts means that DATE '2026-01-02', CAST(x AS date) and, with ColonCasts, x::date are
	// the day that a column of type date would store of x. In SQLite CAST('2026-01-02' AS date)
	// is the number 2026: https://www.sqlite.org/lang_expr.html#castexpr.
	DateCasts bool

	// StringPrefixes are the letters, in lower case, that form one token with a quote
	// that follows at once: "nbx" for N'…', B'…' and X'…'.
	StringPrefixes string

	BackslashNull      bool     // \N is NULL
	HashComments       bool     // # to the end of the line
	DashNeedsSpace     bool     // "--" opens a comment only before a space or control character
	NestedComments     bool     // /* /* */ */ is one comment
	OpenComments       bool     // a comment /* without an end reaches to the end of the text
	ExecutableComments []string // the openings of comments that the engine runs: "/*!"

	// IdentStart and IdentPart are the ASCII bytes besides letters, digits
	// and underscore that an identifier may start with and contain.
	IdentStart, IdentPart string

	// DigitIdents reports whether an identifier may begin with a digit.
	DigitIdents bool

	// DollarWords are the words, in lower case, that begin with a dollar although other
	// identifiers may not: the columns of a graph's tables.
	DollarWords []string

	UserVariables   bool // @name is a variable of the session, not a placeholder
	ServerVariables bool // @@name is a variable of the server

	UnicodeSpaces  bool // U+00A0, U+3000 and their like are white space
	ByteOrderMark  bool // U+FEFF is white space where a token could begin
	ReturnEndsLine bool // a carriage return alone ends a comment

	// Wide holds the characters of two bytes in the client's character set; nil if no
	// such character has a byte below 0x80.
	Wide *WideBytes
}

// Params holds how an engine and its Go drivers spell and number placeholders.
type Params struct {
	Question       bool // ?
	QuestionNumber bool // ?7
	Dollar         bool // $7
	DollarName     bool // $name
	Colon          bool // :name, :7
	QuotedName     bool // :"Name"
	ColonPlaces    bool // :name takes the next argument as ? does, whatever the name
	At             bool // @name
	AtNumber       bool // @p7 is the seventh argument

	// ByPosition reports whether an argument without a name belongs to a placeholder by
	// its place in the text, whatever the placeholder is called: each occurrence takes
	// the next argument.
	ByPosition bool

	FoldedNames bool // names of placeholders compare without case

	// FirstUse reports whether some drivers number $7 by its first place in the text,
	// and others by its digits.
	FirstUse bool

	// Arrays reports whether an argument that is a list stands for several rows.
	Arrays bool

	// Max is how many arguments one statement may have.
	Max int
}
