package outcome

import (
	"database/sql/driver"
	"slices"
)

// OwnResult is a driver's result with a key that keyfill has made; Key is 0 if that key
// was not stored, or if that is not known.
type OwnResult struct {
	driver.Result
	Key int64
}

// LastInsertId returns the key.
func (r OwnResult) LastInsertId() (int64, error) { return r.Key, nil }

// severalResults is implemented by the results of go-sql-driver/mysql, for callers that
// execute a text of several statements through sql.Conn.Raw.
type severalResults interface {
	AllRowsAffected() []int64
	AllLastInsertIds() []int64
}

// ownResults is an OwnResult whose driver also returns the results of each statement.
type ownResults struct {
	OwnResult
	each severalResults
}

// AllRowsAffected returns the driver's answer.
func (r ownResults) AllRowsAffected() []int64 { return r.each.AllRowsAffected() }

// AllLastInsertIds returns the driver's answer, with keyfill's key as the last ID.
func (r ownResults) AllLastInsertIds() []int64 {
	ids := slices.Clone(r.each.AllLastInsertIds())
	if len(ids) > 0 {
		ids[len(ids)-1] = r.Key
	}
	return ids
}

// WithSeveral returns an OwnResult as an ownResults if its driver also returns the
// results of each statement. It returns any other result unchanged.
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
