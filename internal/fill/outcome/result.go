package outcome

import (
	"database/sql/driver"
	"slices"
)

// OwnResult is a driver's result with the key that we have made, or 0 when it
// was not stored, or when the engine does not tell.
type OwnResult struct {
	driver.Result
	Id int64
}

func (r OwnResult) LastInsertId() (int64, error) { return r.Id, nil }

// severalResults are what go-sql-driver/mysql tells of each statement of a text, to
// callers who execute it through sql.Conn.Raw.
type severalResults interface {
	AllRowsAffected() []int64
	AllLastInsertIds() []int64
}

// ownResults is an ownResult whose driver also gives the results of each statement.
type ownResults struct {
	OwnResult
	each severalResults
}

func (r ownResults) AllRowsAffected() []int64 { return r.each.AllRowsAffected() }

// AllLastInsertIds ends with our key, as LastInsertId gives it.
func (r ownResults) AllLastInsertIds() []int64 {
	ids := slices.Clone(r.each.AllLastInsertIds())
	if len(ids) > 0 {
		ids[len(ids)-1] = r.Id
	}
	return ids
}

// WithSeveral makes an ownResult an ownResults if its driver also gives the results of
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
