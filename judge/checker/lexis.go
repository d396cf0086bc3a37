package checker

import "fmt"

// lexis describes the tokens of a dialect.
type lexis struct {
	comments commentLexis

	strings stringLexis

	backticks        bool   // `name`
	brackets         bool   // [name]
	doubledBrackets  bool   // whether ]] in a name stands for one bracket
	squareGroups     bool   // ARRAY[1, 2]
	wordStart        string // characters that may begin a word, besides letters
	wordPart         string // characters that may continue a word, besides letters and digits
	question, dollar bool   // whether ? is a placeholder, and whether $1 is
	numberedQuestion bool   // ?1
	colon, at        bool   // :name, @name
	dollarNames      bool   // $name
	sessionTables    bool   // whether #name is a table of the session's own
	noSemicolons     bool   // whether statements may follow each other without a semicolon
	replace          bool   // whether REPLACE is an INSERT
}

// stringLexis describes the strings of a dialect.
type stringLexis struct {
	backslashes bool // whether a backslash escapes a character, such as \'
	escape      bool // E'\''
	dollar      bool // $tag$…$tag$
	quote       bool // q'[…]'
	double      bool // whether "…" is a string
}

// commentLexis describes the comments of a dialect.
type commentLexis struct {
	hash         bool // whether # begins a comment up to the end of the line
	spacedDashes bool // whether "--" opens a comment only before white space
	nested       bool // whether comments nest: /* /* */ */
	open         bool // whether a comment may end at the end of the text, without */
	code         bool // whether /*! … */ is code
}

var lexes = map[string]*lexis{
	"mysql": {comments: commentLexis{hash: true, spacedDashes: true, code: true}, strings: stringLexis{backslashes: true, double: true},
		backticks: true, wordStart: "_$", wordPart: "_$", question: true, replace: true},
	"mariadb": {comments: commentLexis{hash: true, spacedDashes: true, code: true}, strings: stringLexis{backslashes: true, double: true},
		backticks: true, wordStart: "_$", wordPart: "_$", question: true, replace: true},
	"postgres": {comments: commentLexis{nested: true}, strings: stringLexis{escape: true, dollar: true}, squareGroups: true, wordStart: "_",
		wordPart: "_$", dollar: true},
	"sqlite": {comments: commentLexis{open: true}, backticks: true, brackets: true, wordStart: "_", wordPart: "_$", question: true,
		numberedQuestion: true, dollar: true, dollarNames: true, colon: true, at: true, replace: true},
	"sqlserver": {comments: commentLexis{nested: true}, brackets: true, doubledBrackets: true, wordStart: "_#", wordPart: "_#@$", at: true,
		sessionTables: true, noSemicolons: true},
	"oracle": {strings: stringLexis{quote: true}, wordStart: "_", wordPart: "_#$", colon: true},
}

// lexisOf returns the lexis of a dialect: how its tokens are written.
func lexisOf(dialect string) (*lexis, error) {
	if l := lexes[dialect]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("checker: no dialect %q", dialect)
}
