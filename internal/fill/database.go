package fill

import (
	"cmp"
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys"
)

// Database fills keys for the statements of one database. Its methods are what package
// keyfill calls.
type Database struct{ execution.Database }

// errNumbersPlaceholders is returned if the driver numbers placeholders itself, after
// keyfill has changed the text.
var errNumbersPlaceholders = anchor.Last("driver", `keyfill: the driver "mssql" of go-mssqldb numbers placeholders itself: open the database as "sqlserver", and write @p1, @p2 … for ? and $1`)

// NewDatabase returns the Database for one database. It does no I/O. It keeps the
// policy, which must not be changed.
func NewDatabase(a execution.Options, d driver.Driver) (*Database, error) {
	cfg := a.Policy
	facts, known := drivers.Of(d)
	if drivers.NumbersPlaceholders(d) {
		return nil, errNumbersPlaceholders
	}
	var dialects []*dialect.Dialect
	switch {
	case cfg.Dialect != "":
		one, err := dialect.ByName(cfg.Dialect)
		if err != nil {
			return nil, anchor.Errorf("driver", "keyfill: %w", err)
		}
		if known && !facts.Speaks(one) {
			return nil, anchor.Errorf("driver", "keyfill: the policy says dialect: %s, and the driver of package %q speaks another one: leave dialect: out",
				one.Name, drivers.PackagePath(d))
		}
		dialects = []*dialect.Dialect{one}
	case facts.Family:
		dialects = []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()}
	case known:
		dialects = []*dialect.Dialect{facts.Dialect}
	default:
		return nil, anchor.Errorf("driver", "keyfill: the driver of package %q is not known: say dialect: in the policy, one of %s",
			cmp.Or(drivers.PackagePath(d), "(none: another wrapper's)"), dialect.Names())
	}
	sources, err := keys.New(a, facts, dialects)
	if err != nil {
		return nil, err
	}
	return &Database{execution.Database{
		Sources: sources,
		Seen:    execution.NewSeenTexts(sources.Tables),
		Stats:   execution.Statistics{Tables: sources.Tables},
		Found:   execution.FoundRows{Tables: sources.Tables},
	}}, nil
}
