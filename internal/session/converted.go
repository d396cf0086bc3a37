package session

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// MySQL and MariaDB convert each argument of a prepared statement from the session's
// character_set_client to its character_set_connection, even the bytes of a BINARY(16) key:
// a byte that is no character is stored as '?', as was seen on 10.11. Both character sets are
// the same unless a text, a procedure or init_connect has set only one of them.
//
// A driver that writes arguments into the text escapes bytes by backslashes. Where the
// client's character set is gbk or one like it, a backslash after a byte above 0x7F is half
// of a character and escapes nothing: other bytes are stored, or the text is a syntax error.
//
// A hexadecimal literal is exact in every session.

// Conversion is the set of ways in which a session may store other bytes than an argument
// has.
type Conversion int32

// What a session may convert.
const (
	ConvertsPrepared Conversion = 1 << iota // the arguments of a prepared statement are converted
	ConvertsQuoted                          // bytes that a driver quotes in the text are read otherwise
)

// convertedArguments caches the Conversion of a session.
type convertedArguments struct {
	asked bool
	as    Conversion

	touched bool // whether a text may have set a character set
	unsure  bool // whether a text that may set a character set was prepared, or the application has the driver's connection
}

// sends forgets the answer if the text, which is about to be executed, may set a character
// set.
func (k *convertedArguments) sends(t *text) {
	if maySetCharacters(t) {
		k.asked, k.touched = false, true
	}
}

// prepares sets unsure if the text, which is about to be prepared, may set a character set.
func (k *convertedArguments) prepares(t *text) {
	k.unsure = k.unsure || maySetCharacters(t)
}

// settersOfCharacters are parts of the texts that may set a character set: SET NAMES, SET
// CHARACTER SET, variables of character sets and collations, and words that run other
// texts.
var settersOfCharacters = []string{"names", "char", "coll", "call", "execute"}

// maySetCharacters reports whether a text may set a character set of the session.
func maySetCharacters(t *text) bool {
	if t.dialect.Conversion == "" || t.leaves(words.SettingsLeft) {
		return false
	}
	query := strings.ToLower(t.query)
	for _, part := range settersOfCharacters {
		if strings.Contains(query, part) {
			return true
		}
	}
	return false
}

// KnownConversion returns the Conversion of the session. known is false if the engine has
// to be asked for it.
func KnownConversion(c *Conn) (as Conversion, known bool) {
	k := &c.converted
	switch {
	case c.dialect().Conversion == "", c.server.Detached:
		return 0, true
	case k.unsure:
		return 0, false
	case k.asked:
		return k.as, true
	}
	ofNew := c.server.converts.Load()
	return Conversion(ofNew - 1), !k.touched && ofNew > 0
}

// ConversionNow returns the Conversion of the session. It asks the engine in the first
// session of a database, and in any session again after a text that may have changed a
// character set. An error is the driver's own.
func ConversionNow(ctx context.Context, c *Conn) (Conversion, error) {
	if as, known := KnownConversion(c); known {
		return as, nil
	}
	row, err := c.QueryRow(ctx, c.dialect().Conversion, nil)
	if err != nil {
		return 0, err
	}
	n, _ := IntegerOf(row[0])
	k := &c.converted
	k.asked, k.as = true, Conversion(n)
	if !k.touched && !k.unsure {
		c.server.converts.Store(int32(k.as) + 1)
	}
	return k.as, nil
}
