package vetreport

import (
	"cmp"

	"github.com/keyfill/keyfill/internal/explain"
)

// AskedDatabase explains statements on a database, if there is one, and keeps the first
// error.
type AskedDatabase struct {
	explain.OnDatabase
	Failed error
}

// Explain explains a query.
func (a *AskedDatabase) Explain(query string) (explain.Explanation, error) {
	ex, err := a.OnDatabase.Explain(query)
	a.Failed = cmp.Or(a.Failed, err)
	return ex, err
}

// Release closes the connections to the database.
func (a *AskedDatabase) Release() {
	if a.OnDatabase != nil {
		_ = a.OnDatabase.Close() // the connections have only read, so an error of Close loses nothing
	}
}
