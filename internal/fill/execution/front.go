package execution

import (
	"strings"
)

// Front holds what the texts of a batch so far may change before the next one runs. The
// texts are decided before the first of them has run, so the engine's answers about the
// session describe it before the batch.
type Front struct {
	Place    bool // the meaning of the names of tables
	Columns  bool // the columns of tables
	Settings bool // the settings of the session
	Texts    []string

	Path  []string // the search path that the last of them has set, until it is asked for
	Begun bool     // one of them has begun a transaction that none has ended
}

// mayMove reports whether the names of tables may mean others when the next text of the
// batch runs. f may be nil, as it may for the other methods.
func (f *Front) mayMove() bool { return f != nil && f.Place }

// mayAlter reports whether tables may have other columns then.
func (f *Front) mayAlter() bool { return f != nil && f.Columns }

// maySet reports whether the session may have other settings then.
func (f *Front) maySet() bool { return f != nil && f.Settings }

// inFrontOf returns a text after the texts of the batch that may change its meaning.
func (f *Front) inFrontOf(query string) string {
	if f == nil || !f.Place {
		return query
	}
	return strings.Join(append(f.Texts, query), ";\n")
}
