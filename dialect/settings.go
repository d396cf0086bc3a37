package dialect

import (
	"math/bits"
	"strings"
)

// Settings are the settings of a session that change how its engine splits text into
// tokens, as a set of bits. 0 is the state in which a session begins unless a server, a
// user or a connection is configured otherwise.
type Settings uint16

const (
	// ANSIQuotes is sql_mode ANSI_QUOTES, also as a part of another mode: "…" is
	// an identifier. MySQL 8.4, section 7.1.11; MariaDB Knowledge Base, "SQL_MODE".
	ANSIQuotes Settings = 1 << iota
	// NoBackslashEscapes is sql_mode NO_BACKSLASH_ESCAPES: a backslash in a
	// string stands for itself.
	NoBackslashEscapes
	// OracleMode is sql_mode ORACLE of MariaDB, besides its ANSI_QUOTES: :name is
	// a placeholder as ? is, by its place whatever the name, and BEGIN opens a
	// block (Knowledge Base, "SQL_MODE=ORACLE"; placeholders seen on 10.11).
	OracleMode
	// MSSQLMode is sql_mode MSSQL of MariaDB, besides its ANSI_QUOTES: […] is an
	// identifier, in which ]] stands for one ] (seen on 10.11).
	MSSQLMode
	// BackslashStrings is standard_conforming_strings off: '…' and N'…' have
	// backslash escapes. PostgreSQL 18, section 19.13.1; it is always on from
	// version 19.
	BackslashStrings
	// QuotedIdentifierOff is QUOTED_IDENTIFIER OFF: "…" is a string.
	// Transact-SQL reference, "SET QUOTED_IDENTIFIER".
	QuotedIdentifierOff
	// GBKClient is the character set gbk or gb18030 of a client: a byte above 0x7F
	// forms one character with the next byte, which may be a backslash or a backtick.
	// MySQL 8.4, section 12.3.3, "Connection Character Sets and Collations".
	GBKClient
	// Big5Client is the character set big5 of a client, whose characters may have two
	// bytes, as in gbk.
	Big5Client
	// SJISClient is the character set sjis or cp932 of a client, whose characters may
	// have two bytes, as in gbk.
	SJISClient

	allSettings = iota // the number of the settings above
)

// Setting is a session's setting that changes how its engine splits text into tokens.
type Setting struct {
	Name string // its name in the policy file, such as "sql_mode"

	// Query asks a session for the setting. The answer is one text: a word, or words
	// that are separated by commas.
	Query string

	// Words are the words, in upper case, that change how text is read, with their
	// settings. Other words change nothing.
	Words map[string]Settings

	// Clients are the character sets, in upper case, that a client may have, with their
	// settings. The answer to Query then ends with the session's character set. Clients
	// is nil if the answer has none.
	Clients map[string]Settings

	// Touchy are the bytes whose meaning depends on settings, each with these settings.
	// A text without any of them is read alike under all settings.
	Touchy map[byte]Settings

	// OneByOne reports whether a statement of a text is parsed after the statements
	// before it have run; otherwise a text with a mistake in it does nothing.
	OneByOne bool
}

// sqlMode is the setting of MySQL. Up to MySQL 5.7, sql_mode had the modes of other
// engines too (5.7 manual, section 5.1.10).
var sqlMode = Setting{
	Name:    "sql_mode",
	Query:   "SELECT CONCAT(@@SESSION.sql_mode, ',', @@SESSION.character_set_client)",
	Clients: clientCharsets,
	Words: map[string]Settings{
		"ANSI_QUOTES":          ANSIQuotes,
		"ANSI":                 ANSIQuotes,
		"DB2":                  ANSIQuotes,
		"MAXDB":                ANSIQuotes,
		"MSSQL":                ANSIQuotes,
		"ORACLE":               ANSIQuotes,
		"POSTGRESQL":           ANSIQuotes,
		"NO_BACKSLASH_ESCAPES": NoBackslashEscapes,
	},
	Touchy:   map[byte]Settings{'"': ANSIQuotes, '\\': NoBackslashEscapes},
	OneByOne: true,
}

// clientCharsets are the character sets of MySQL 5.7 to 9 and MariaDB 10.5 to 12,
// except for sets of two bytes for every character, which no client may have. In the
// sets whose settings are 0, no backslash, backtick or quote is a part of another
// character: the bytes of big5 and gbk are in strings/ctype-big5.c and ctype-gbk.c, and
// were seen on MariaDB 10.11.
var clientCharsets = func() map[string]Settings {
	all := map[string]Settings{
		"GBK": GBKClient, "GB18030": GBKClient, "BIG5": Big5Client, "SJIS": SJISClient, "CP932": SJISClient,
	}
	for name := range strings.FieldsSeq(`ARMSCII8 ASCII BINARY CP1250 CP1251 CP1256 CP1257 CP850 CP852 CP866 DEC8
		EUCJPMS EUCKR GB2312 GEOSTD8 GREEK HEBREW HP8 KEYBCS2 KOI8R KOI8U LATIN1 LATIN2 LATIN5 LATIN7 MACCE MACROMAN
		SWE7 TIS620 UJIS UTF8 UTF8MB3 UTF8MB4`) {
		all[name] = 0
	}
	return all
}()

// mariadbMode is the setting of MariaDB, which has kept the modes of other engines.
// What each mode contains was read from 10.11.
var mariadbMode = Setting{
	Name:    sqlMode.Name,
	Query:   sqlMode.Query,
	Clients: clientCharsets,
	Words: map[string]Settings{
		"ANSI_QUOTES":          ANSIQuotes,
		"ANSI":                 ANSIQuotes,
		"DB2":                  ANSIQuotes,
		"MAXDB":                ANSIQuotes,
		"POSTGRESQL":           ANSIQuotes,
		"MSSQL":                ANSIQuotes | MSSQLMode,
		"ORACLE":               ANSIQuotes | OracleMode,
		"NO_BACKSLASH_ESCAPES": NoBackslashEscapes,
	},
	Touchy:   map[byte]Settings{'"': ANSIQuotes, '\\': NoBackslashEscapes, ':': OracleMode, '[': MSSQLMode},
	OneByOne: true,
}

var conformingStrings = Setting{
	Name:   "standard_conforming_strings",
	Query:  "SHOW standard_conforming_strings",
	Words:  map[string]Settings{"OFF": BackslashStrings},
	Touchy: map[byte]Settings{'\\': BackslashStrings},
}

var quotedIdentifier = Setting{
	Name:   "quoted_identifier",
	Query:  "SELECT CAST(SESSIONPROPERTY('QUOTED_IDENTIFIER') AS varchar(3))",
	Words:  map[string]Settings{"0": QuotedIdentifierOff, "OFF": QuotedIdentifierOff},
	Touchy: map[byte]Settings{'"': QuotedIdentifierOff},
}

// Read returns the settings for the words in an answer to Query.
func (s *Setting) Read(answer string) (set Settings) {
	for word := range strings.SplitSeq(answer, ",") {
		set |= s.Words[strings.ToUpper(strings.TrimSpace(word))]
	}
	return set
}

// ReadAnswer returns the settings for a whole answer to Query, which may end with the
// client's character set. It returns false if the session's character set is not among
// Clients.
func (s *Setting) ReadAnswer(answer string) (set Settings, known bool) {
	if s.Clients == nil {
		return s.Read(answer), true
	}
	at := strings.LastIndexByte(answer, ',')
	client, known := s.Clients[strings.ToUpper(answer[at+1:])]
	return s.Read(answer[:max(at, 0)]) | client, known
}

// In returns the settings on which the tokens of a text may depend.
func (s *Setting) In(text string) (set Settings) {
	for c, settings := range s.Touchy {
		if strings.IndexByte(text, c) >= 0 {
			set |= settings
		}
	}
	if s.Clients != nil && (isBehindWide(text, '\\') || isBehindWide(text, '`')) {
		set |= GBKClient | Big5Client | SJISClient
	}
	return set
}

// isBehindWide reports whether a byte c of a text follows a byte above 0x7F, with which
// it may form one character.
func isBehindWide(text string, c byte) bool {
	for i := 0; ; {
		n := strings.IndexByte(text[i:], c)
		if n < 0 {
			return false
		}
		if i += n; i > 0 && text[i-1] > 0x7F {
			return true
		}
		i++
	}
}

// Of returns the part of a session's settings that matters for a text. The parameter in
// has the settings on which the reading of the text may depend.
func (s Settings) Of(in Settings) Settings {
	if s &= in; s&(OracleMode|MSSQLMode) != 0 {
		s |= ANSIQuotes
	}
	return s
}

// Others returns the settings, besides d's own, under which a session may read a text
// differently; nil if the text has none of the Touchy bytes.
func (d *Dialect) Others(text string) []Settings {
	if d.Setting == nil {
		return nil
	}
	in := d.Setting.In(text)
	if in == 0 {
		return nil
	}
	var others []Settings
	for _, s := range possible[d.Name] {
		if s.Of(in) == s && s != d.Settings.Of(in) {
			others = append(others, s)
		}
	}
	return others
}

// With returns the dialect under other settings of the session. Settings that the
// engine does not have are ignored. The same settings give the same value. With returns
// d itself for d.Settings, and for any settings if d is not one of [All].
func (d *Dialect) With(s Settings) *Dialect {
	if d.Setting != nil {
		s &= d.Setting.all()
	}
	if v := variants[variant{d.Name, s, d.ExactTables}]; v != nil {
		return v
	}
	return d
}

// WithExactTables returns the dialect of servers that compare the names of tables as
// they are written. The same d gives the same value.
func (d *Dialect) WithExactTables() *Dialect {
	return variants[variant{d.Name, d.Settings, true}]
}

// all returns all settings that the engine has.
func (s *Setting) all() (all Settings) {
	for _, set := range s.Touchy {
		all |= set
	}
	for _, set := range s.Clients {
		all |= set
	}
	return all
}

// possible are the settings that a session of each dialect can have. Two kinds of
// combinations cannot occur, and are left out: MariaDB's modes ORACLE and MSSQL without
// ANSI_QUOTES, which both include, and several character sets of one client.
var possible = func() map[string][]Settings {
	all := map[string][]Settings{}
	for _, d := range All() {
		for s := range Settings(1 << allSettings) {
			has := s == 0 || d.Setting != nil && s&^d.Setting.all() == 0
			oneClient := bits.OnesCount16(uint16(s&(GBKClient|Big5Client|SJISClient))) <= 1
			if has && oneClient && (s&(OracleMode|MSSQLMode) == 0 || s&ANSIQuotes != 0) {
				all[d.Name] = append(all[d.Name], s)
			}
		}
	}
	return all
}()

// variant identifies a dialect under certain settings.
type variant struct {
	name     string
	settings Settings
	exact    bool // whether names of tables are compared exactly: see Dialect.ExactTables
}

// variants are all dialects under all settings that they can have.
var variants = func() map[variant]*Dialect {
	all := map[variant]*Dialect{}
	for _, d := range All() {
		for _, s := range possible[d.Name] {
			all[variant{d.Name, s, false}] = d.vary(s)
			exact := d.vary(s)
			exact.ExactTables = true
			all[variant{d.Name, s, true}] = exact
		}
		all[variant{d.Name, 0, false}] = d
	}
	return all
}()

// vary returns a copy of the dialect under settings.
func (d *Dialect) vary(s Settings) *Dialect {
	v := *d
	v.Settings = s
	lex := &v.Lexis
	if s&ANSIQuotes != 0 {
		lex.DoubleQuotedStrings = false
	}
	if s&NoBackslashEscapes != 0 {
		lex.BackslashEscapes = false
	}
	if s&OracleMode != 0 {
		v.Params.ColonPlaces, v.Params.QuotedName = true, true
	}
	if s&MSSQLMode != 0 {
		lex.Brackets, lex.BracketsDouble = true, true
	}
	if s&BackslashStrings != 0 {
		lex.BackslashEscapes = true
	}
	if s&QuotedIdentifierOff != 0 {
		lex.DoubleQuotedStrings = true
	}
	switch {
	case s&GBKClient != 0:
		lex.Wide = &gbkBytes
	case s&Big5Client != 0:
		lex.Wide = &big5Bytes
	case s&SJISClient != 0:
		lex.Wide = &sjisBytes
	}
	return &v
}
