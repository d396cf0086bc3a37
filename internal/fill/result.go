package fill

import (
	"database/sql/driver"
	"slices"
)

// ownResult is a driver's result with the key that we have made, or 0 when it
// was not stored, or when the engine does not tell.
type ownResult struct {
	driver.Result
	id int64
}

func (r ownResult) LastInsertId() (int64, error) { return r.id, nil }

// severalResults are what go-sql-driver/mysql tells of each statement of a text, to
// callers who execute it through sql.Conn.Raw.
type severalResults interface {
	AllRowsAffected() []int64
	AllLastInsertIds() []int64
}

// ownResults is an ownResult whose driver also gives the results of each statement.
type ownResults struct {
	ownResult
	each severalResults
}

func (r ownResults) AllRowsAffected() []int64 { return r.each.AllRowsAffected() }

// AllLastInsertIds ends with our key, as LastInsertId gives it.
func (r ownResults) AllLastInsertIds() []int64 {
	ids := slices.Clone(r.each.AllLastInsertIds())
	if len(ids) > 0 {
		ids[len(ids)-1] = r.id
	}
	return ids
}

// withSeveral makes an ownResult an ownResults if its driver also gives the results of
// each statement. Any other result comes back as it is.
func withSeveral(res driver.Result) driver.Result {
	own, ok := res.(ownResult)
	if !ok {
		return res
	}
	if each, ok := own.Result.(severalResults); ok {
		return ownResults{own, each}
	}
	return res
}
