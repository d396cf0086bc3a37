package main

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
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// databaseFlags are the flags by which a command finds the database that it looks at.
type databaseFlags struct {
	driver, dsn, variable string
}

// dataSource returns the DSN and the dialect that the flags name.
func (f *databaseFlags) dataSource() (string, *dialect.Dialect, error) {
	i := slices.IndexFunc(databaseDrivers, func(d struct {
		name    string
		dialect func() *dialect.Dialect
	}) bool {
		return d.name == f.driver
	})
	switch {
	case i < 0:
		return "", nil, usagef("say --driver, one of sqlite, mysql, pgx, postgres, sqlserver and oracle")
	case (f.dsn == "") == (f.variable == ""):
		return "", nil, usagef("say one of --dsn and --dsn-env")
	}
	dsn := f.dsn
	if f.variable != "" {
		if dsn = os.Getenv(f.variable); dsn == "" {
			return "", nil, usagef("--dsn-env: set the environment variable %s, which is empty", f.variable)
		}
	}
	return dsn, databaseDrivers[i].dialect(), nil
}

// open connects to the database that the flags name, which has to be there.
func (f *databaseFlags) open(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, _, err := f.dataSource()
	if err != nil {
		return nil, nil, err
	}
	if err := isThere(f.driver, dsn); err != nil {
		return nil, nil, err
	}
	return f.connect(ctx)
}

// connect connects to the database that the flags name. What the drivers say of a DSN is
// not shown, since it may hold the password.
func (f *databaseFlags) connect(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, d, err := f.dataSource()
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open(f.driver, dsn)
	if err != nil {
		return nil, nil, usagef("the driver %s cannot read the DSN: write it as that driver's documentation says", f.driver)
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

// plainConnector is a driver with a DSN.
type plainConnector struct {
	driver driver.Driver
	dsn    string
}

// newPlainConnector returns a connector that opens what a DSN names.
func newPlainConnector(d driver.Driver, dsn string) driver.Connector { return plainConnector{d, dsn} }

func (c plainConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

func (c plainConnector) Driver() driver.Driver { return c.driver }

// openDriver returns the driver that the flags name, without its database.
func (f *databaseFlags) openDriver() (driver.Driver, drivers.Facts, error) {
	if !slices.Contains(driverNames, f.driver) {
		return nil, drivers.Facts{}, usagef("say --driver, one of %s", strings.Join(driverNames, ", "))
	}
	db, err := sql.Open(f.driver, "")
	if err != nil {
		return nil, drivers.Facts{}, fmt.Errorf("driver %q opens no database without a DSN: take another one of %s", f.driver, strings.Join(driverNames, ", "))
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, drivers.Facts{}, err
	}
	facts, _ := drivers.Of(d)
	return d, facts, nil
}

// unread is the error of a DSN that the driver cannot read.
func (f *databaseFlags) unread() error {
	return fmt.Errorf("the driver %s cannot read the DSN: mend it (what the driver says is left out, since it may repeat the DSN)", f.driver)
}

// resolve returns the DSN.
func (f *databaseFlags) resolve() (string, error) {
	switch {
	case f.dsn != "" && f.variable != "":
		return "", usagef("--dsn and --dsn-env say the same: take one")
	case f.dsn != "":
		return f.dsn, nil
	case f.variable == "":
		return "", usagef("say --dsn, or --dsn-env with the variable that holds the DSN")
	}
	dsn := os.Getenv(f.variable)
	if dsn == "" {
		return "", usagef("the variable %s of --dsn-env is not set: let it hold the DSN", f.variable)
	}
	return dsn, nil
}

// openFilled opens a database through keyfill. $KEYFILL_MODE concerns the
// user's own databases, and what keyfill logs of tables that go again nobody.
func openFilled(c driver.Connector, cfg *policy.Config) (*sql.DB, error) {
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

// none reports whether no flag names a database.
func (f *databaseFlags) none() bool { return *f == databaseFlags{} }
