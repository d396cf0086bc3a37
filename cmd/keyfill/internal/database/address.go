// Package database opens the database that a command line names, by the drivers that
// keyfill knows, and finds its tables and columns by the names of a policy.
package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// Address is the database that a command opens: the flags --driver, --dsn and --dsn-env.
type Address struct {
	Driver, DSN string
	Variable    string // the environment variable that holds the DSN
}

// IsEmpty reports whether no flag names a database.
func (a *Address) IsEmpty() bool { return *a == Address{} }

// Flags returns the flags of the address for a command that is shown: without the DSN
// itself, which may hold a password.
func (a *Address) Flags() string {
	if a.Variable != "" {
		return "--driver " + a.Driver + " --dsn-env " + a.Variable
	}
	return "--driver " + a.Driver + " --dsn DSN"
}

// DataSource returns the DSN, and the dialect that the driver speaks.
func (a *Address) DataSource() (dsn string, d *dialect.Dialect, err error) {
	d = DialectOf(a.Driver)
	switch {
	case d == nil:
		return "", nil, a.unknown()
	case (a.DSN == "") == (a.Variable == ""):
		return "", nil, usage.Errorf("say one of --dsn and --dsn-env")
	case a.Variable == "":
		return a.DSN, d, nil
	}
	if dsn = os.Getenv(a.Variable); dsn == "" {
		return "", nil, usage.Errorf("--dsn-env: set the environment variable %s, which is empty", a.Variable)
	}
	return dsn, d, nil
}

// unknown returns the error for a driver name that is not known.
func (a *Address) unknown() error {
	return usage.Errorf("say --driver, one of %s", strings.Join(Drivers(), ", "))
}

// misread returns the error for a DSN that the driver cannot read.
func (a *Address) misread() error {
	return usage.Errorf("the driver %s cannot read the DSN: write it as that driver's documentation says", a.Driver)
}

// Open connects to the database, and fails if it is a file of SQLite that does not exist.
func (a *Address) Open(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, _, err := a.DataSource()
	if err != nil {
		return nil, nil, err
	}
	if err := CheckFile(a.Driver, dsn); err != nil {
		return nil, nil, err
	}
	return a.Connect(ctx)
}

// Connect connects to the database, and finds out whether it is MariaDB or MySQL. Its
// errors do not repeat a driver's message about the DSN, which may contain the password.
func (a *Address) Connect(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, d, err := a.DataSource()
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open(a.Driver, dsn)
	if err != nil {
		return nil, nil, a.misread()
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, nil, closing(db, fmt.Errorf("%w", sqlcode.Connecting(err)))
	}
	if d.Family == dialect.FamilyMySQL {
		var version string
		if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
			return nil, nil, closing(db, err)
		}
		if strings.Contains(version, "MariaDB") {
			d = dialect.MariaDB()
		}
	}
	return db, d, nil
}

// closing closes db and returns err, the reason why db is not used.
func closing(db *sql.DB, err error) error {
	_ = db.Close() // the error of Close is ignored, since err is its likely cause
	return err
}

// connector opens connections by a driver and a DSN.
type connector struct {
	driver driver.Driver
	dsn    string
}

// NewConnector returns a connector for a DSN.
func NewConnector(d driver.Driver, dsn string) driver.Connector { return connector{d, dsn} }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

func (c connector) Driver() driver.Driver { return c.driver }

// OpenDriver returns the driver and the facts about it. It opens no database.
func (a *Address) OpenDriver() (driver.Driver, drivers.Facts, error) {
	if DialectOf(a.Driver) == nil {
		return nil, drivers.Facts{}, a.unknown()
	}
	db, err := sql.Open(a.Driver, "")
	if err != nil {
		return nil, drivers.Facts{}, fmt.Errorf("driver %q opens no database without a DSN: take another one of %s", a.Driver, strings.Join(Drivers(), ", "))
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, drivers.Facts{}, err
	}
	facts, _ := drivers.Of(d)
	return d, facts, nil
}

// UnreadError returns the error for a DSN that the driver cannot read.
func (a *Address) UnreadError() error {
	return fmt.Errorf("the driver %s cannot read the DSN: mend it (what the driver says is left out, since it may repeat the DSN)", a.Driver)
}

// OpenFilled opens a database through keyfill for the command itself: $KEYFILL_MODE does
// not apply to it, and nothing is logged.
func OpenFilled(c driver.Connector, cfg *policy.Config) (*sql.DB, error) {
	db, err := keyfill.OpenDB(c, keyfill.Options{Policy: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	mount, err := keyfill.From(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	mount.SetMode(policy.ModeFill)
	return db, nil
}
