package outcome

import (
	"database/sql/driver"
	"slices"
)

// OwnResult is a driver's result with the key that we have made, or 0 if the key was not
// stored, or if that is not known.
type OwnResult struct {
	driver.Result
	Key int64
}

// LastInsertId returns the key.
func (r OwnResult) LastInsertId() (int64, error) { return r.Key, nil }

// severalResults is implemented by the results of go-sql-driver/mysql for a text of
// several statements, for callers that execute it through sql.Conn.Raw.
type severalResults interface {
	AllRowsAffected() []int64
	AllLastInsertIds() []int64
}

// ownResults is an OwnResult whose driver also gives the results of each statement.
type ownResults struct {
	OwnResult
	each severalResults
}

// AllRowsAffected is the driver's.
func (r ownResults) AllRowsAffected() []int64 { return r.each.AllRowsAffected() }

// AllLastInsertIds ends with our key, as LastInsertId gives it.
func (r ownResults) AllLastInsertIds() []int64 {
	ids := slices.Clone(r.each.AllLastInsertIds())
	if len(ids) > 0 {
		ids[len(ids)-1] = r.Key
	}
	return ids
}

// WithSeveral makes an OwnResult an ownResults if its driver also gives the results of
// each statement. Any other result comes back as it is.
func WithSeveral(res driver.Result) driver.Result {
	own, ok := res.(OwnResult)
	if !ok {
		return res
	}
	if each, ok := own.Result.(severalResults); ok {
		return ownResults{own, each}
	}
	return res
}
