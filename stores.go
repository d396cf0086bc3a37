package keyfill

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/keyfill/keyfill/catalog"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource/store"
	"github.com/keyfill/keyfill/policy"
)

// stores are the databases where the states of one database's sources live:
// its own, and those that the policy names. Each is connected at its first use,
// by connections that are not the application's.
type stores struct {
	own        driver.Connector // the application's, below the guard
	dialect    *dialect.Dialect // of the application's database
	configured map[string]policy.Store

	mu     sync.Mutex
	opened map[string]*openStore // by name, "" for the own one
	closed bool
}

// openStore is a store with its pool of connections.
type openStore struct {
	*store.Store
	db        *sql.DB
	connector driver.Connector // opened for the store; nil: the application's
}

func (o *openStore) close() error {
	// A connection that has outlived its server says so when it is closed. It is
	// not the application's, and holds nothing that could be lost.
	_ = o.db.Close()
	if c, ok := o.connector.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// errMountClosed is for a database that was closed while a key was drawn.
var errMountClosed = errors.New("the database is closed")

// newStores checks what can be without I/O: that the drivers are registered, and
// that the variables with the DSNs are set.
func newStores(cfg *policy.Config, d *dialect.Dialect, own driver.Connector) (*stores, error) {
	s := &stores{own: own, dialect: d, configured: cfg.Stores, opened: map[string]*openStore{}}
	for name, c := range cfg.Stores {
		if !slices.Contains(sql.Drivers(), c.Driver) {
			return nil, fmt.Errorf("keyfill: store %q: no driver named %q is registered: import its package", name, c.Driver)
		}
		if _, err := c.Resolve(); err != nil {
			return nil, fmt.Errorf("keyfill: store %q: %w", name, err)
		}
	}
	return s, nil
}

// get returns a store by its name in the policy, "" for the application's
// database. It does no I/O.
func (s *stores) get(name string) (*store.Store, error) {
	o, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return o.Store, nil
}

// catalog returns the way to ask the catalog of the application's database.
func (s *stores) catalog() (catalog.Querier, error) {
	o, err := s.open("")
	if err != nil {
		return nil, err
	}
	return catalog.DB(o.db), nil
}

func (s *stores) open(name string) (*openStore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errMountClosed
	}
	if o := s.opened[name]; o != nil {
		return o, nil
	}
	o := &openStore{}
	if name == "" {
		o.db = store.Pool(s.dialect, s.own)
		o.Store = store.New(s.dialect, o.db)
	} else {
		c, d, err := openConfigured(name, s.configured[name])
		if err != nil {
			return nil, err
		}
		o.connector, o.db = c, store.Pool(d, c)
		o.Store = store.New(d, o.db)
	}
	s.opened[name] = o
	return o, nil
}

// openConfigured opens a store that the policy names. Errors of its driver are
// left out: they may repeat the DSN.
func openConfigured(name string, c policy.Store) (driver.Connector, *dialect.Dialect, error) {
	dsn, err := c.Resolve()
	if err != nil {
		return nil, nil, fmt.Errorf("store %q: %w", name, err)
	}
	plain, err := sql.Open(c.Driver, dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("store %q: driver %q refuses the DSN", name, c.Driver)
	}
	d := plain.Driver()
	if err := plain.Close(); err != nil {
		return nil, nil, fmt.Errorf("store %q: driver %q cannot be closed", name, c.Driver)
	}
	facts, known := factsOf(d)
	switch {
	case !known:
		return nil, nil, fmt.Errorf("store %q: the driver of package %q is not known", name, packagePath(d))
	case facts.family:
		// MySQL and MariaDB take the same statements of a store.
		facts.dialect = dialect.MySQL()
	}
	connector, err := openConnector(d, dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("store %q: driver %q refuses the DSN", name, c.Driver)
	}
	return connector, facts.dialect, nil
}

// close closes the pools. What is drawn later fails.
func (s *stores) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, o := range s.opened {
		errs = append(errs, o.close())
	}
	clear(s.opened)
	return errors.Join(errs...)
}
