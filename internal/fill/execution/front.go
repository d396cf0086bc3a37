package execution

import (
	"strings"
)

// Front records what the texts of a batch so far may change before the next text runs.
// All texts are decided before the first of them runs, so the engine's answers about
// the session are only true before the batch.
type Front struct {
	Place    bool // what the names of tables mean may change
	Columns  bool // the columns of tables may change
	Settings bool // the settings of the session may change
	Texts    []string

	Path  []string // the search path that the last text to set one has set, until the engine is asked about it
	Begun bool     // a text has begun a transaction that no later text has ended
}

// mayMove reports whether the names of tables may mean other tables when the next text
// of the batch runs. f may be nil, as for the other methods.
func (f *Front) mayMove() bool { return f != nil && f.Place }

// mayAlter reports whether tables may have other columns when the next text runs.
func (f *Front) mayAlter() bool { return f != nil && f.Columns }

// maySet reports whether the session may have other settings when the next text runs.
func (f *Front) maySet() bool { return f != nil && f.Settings }

// inFrontOf returns query, preceded by the texts of the batch that may change its
// meaning.
func (f *Front) inFrontOf(query string) string {
	if f == nil || !f.Place {
		return query
	}
	return strings.Join(append(f.Texts, query), ";\n")
}
