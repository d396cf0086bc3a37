package session

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// MySQL and MariaDB convert each argument of a prepared statement from the session's
// character_set_client to its character_set_connection, even the bytes of a BINARY(16) key:
// a byte that is no character is stored as '?', as was seen on 10.11. A hexadecimal literal
// is not converted. Both character sets are the same unless a text, a procedure or
// init_connect has set only one of them.

// convertedArguments caches whether a session converts arguments.
type convertedArguments struct {
	asked, converts bool

	touched bool // whether a text may have set a character set
	unsure  bool // whether a text that may set a character set was prepared, or the application has the driver's connection
}

// unaskedConversion, noConversion and conversion say whether new sessions of the database
// convert arguments.
const (
	unaskedConversion int32 = iota
	noConversion
	conversion
)

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

// ConvertsArguments reports whether the session may store other bytes than an argument has.
// It asks the engine in the first session of a database, and in any session again after a
// text that may have changed a character set. An error is the driver's own.
func ConvertsArguments(ctx context.Context, c *Conn) (bool, error) {
	k := &c.converted
	ask := c.dialect().Conversion
	if ask == "" {
		return false, nil
	}
	begun := !k.touched && !k.unsure
	switch as := c.server.converts.Load(); {
	case k.asked && !k.unsure:
		return k.converts, nil
	case begun && as != unaskedConversion:
		return as == conversion, nil
	}
	row, err := c.QueryRow(ctx, ask, nil)
	if err != nil {
		return false, err
	}
	n, _ := IntegerOf(row[0])
	k.asked, k.converts = true, n == 1
	if begun && k.converts {
		c.server.converts.Store(conversion)
	} else if begun {
		c.server.converts.Store(noConversion)
	}
	return k.converts, nil
}
