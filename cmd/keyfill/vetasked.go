package main

import (
	"cmp"

	"github.com/keyfill/keyfill/internal/explain"
)

// askedDatabase explains on a database, if there is one, and notes the first error of it.
type askedDatabase struct {
	explain.OnDatabase
	failed error
}

// Explain explains a query.
func (a *askedDatabase) Explain(query string) (explain.Explanation, error) {
	ex, err := a.OnDatabase.Explain(query)
	a.failed = cmp.Or(a.failed, err)
	return ex, err
}

func (a *askedDatabase) close() {
	if a.OnDatabase != nil {
		_ = a.OnDatabase.Close() // nothing was written that could fail now
	}
}
