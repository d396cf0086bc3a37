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
	"slices"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// Address are the flags by which a command finds the database that it looks at.
type Address struct {
	Driver, DSN, Variable string
}

// DataSource returns the DSN and the dialect that the flags name.
func (f *Address) DataSource() (string, *dialect.Dialect, error) {
	i := slices.IndexFunc(known, func(d struct {
		name    string
		dialect func() *dialect.Dialect
	}) bool {
		return d.name == f.Driver
	})
	switch {
	case i < 0:
		return "", nil, usage.Errorf("say --driver, one of sqlite, mysql, pgx, postgres, sqlserver and oracle")
	case (f.DSN == "") == (f.Variable == ""):
		return "", nil, usage.Errorf("say one of --dsn and --dsn-env")
	}
	dsn := f.DSN
	if f.Variable != "" {
		if dsn = os.Getenv(f.Variable); dsn == "" {
			return "", nil, usage.Errorf("--dsn-env: set the environment variable %s, which is empty", f.Variable)
		}
	}
	return dsn, known[i].dialect(), nil
}

// Open connects to the database that the flags name, which has to be there.
func (f *Address) Open(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, _, err := f.DataSource()
	if err != nil {
		return nil, nil, err
	}
	if err := CheckFile(f.Driver, dsn); err != nil {
		return nil, nil, err
	}
	return f.Connect(ctx)
}

// Connect connects to the database that the flags name. What the drivers say of a DSN is
// not shown, since it may hold the password.
func (f *Address) Connect(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, d, err := f.DataSource()
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open(f.Driver, dsn)
	if err != nil {
		return nil, nil, usage.Errorf("the driver %s cannot read the DSN: write it as that driver's documentation says", f.Driver)
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

// closing closes a database that is not used because of an error, which is returned.
func closing(db *sql.DB, err error) error {
	_ = db.Close() // the error before is the cause of any that follows
	return err
}

// connector is a driver with a DSN.
type connector struct {
	driver driver.Driver
	dsn    string
}

// NewConnector returns a connector that opens what a DSN names.
func NewConnector(d driver.Driver, dsn string) driver.Connector { return connector{d, dsn} }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

func (c connector) Driver() driver.Driver { return c.driver }

// OpenDriver returns the driver that the flags name, without its database.
func (f *Address) OpenDriver() (driver.Driver, drivers.Facts, error) {
	if !slices.Contains(Drivers, f.Driver) {
		return nil, drivers.Facts{}, usage.Errorf("say --driver, one of %s", strings.Join(Drivers, ", "))
	}
	db, err := sql.Open(f.Driver, "")
	if err != nil {
		return nil, drivers.Facts{}, fmt.Errorf("driver %q opens no database without a DSN: take another one of %s", f.Driver, strings.Join(Drivers, ", "))
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, drivers.Facts{}, err
	}
	facts, _ := drivers.Of(d)
	return d, facts, nil
}

// UnreadError is the error of a DSN that the driver cannot read.
func (f *Address) UnreadError() error {
	return fmt.Errorf("the driver %s cannot read the DSN: mend it (what the driver says is left out, since it may repeat the DSN)", f.Driver)
}

// Resolve returns the DSN.
func (f *Address) Resolve() (string, error) {
	switch {
	case f.DSN != "" && f.Variable != "":
		return "", usage.Errorf("--dsn and --dsn-env say the same: take one")
	case f.DSN != "":
		return f.DSN, nil
	case f.Variable == "":
		return "", usage.Errorf("say --dsn, or --dsn-env with the variable that holds the DSN")
	}
	dsn := os.Getenv(f.Variable)
	if dsn == "" {
		return "", usage.Errorf("the variable %s of --dsn-env is not set: let it hold the DSN", f.Variable)
	}
	return dsn, nil
}

// OpenFilled opens a database through keyfill. $KEYFILL_MODE concerns the
// user's own databases, and what keyfill logs of tables that go again nobody.
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

// IsEmpty reports whether no flag names a database.
func (f *Address) IsEmpty() bool { return *f == Address{} }
