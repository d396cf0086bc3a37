package statestore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Stores are the stores that keep the stored counters for one database: the database
// itself, and the stores that the policy names. Each is connected on first use, by
// connections that do not belong to the application.
type Stores struct {
	Own        driver.Connector        // connects to the application's database, without keyfill in between
	dialect    *dialect.Dialect        // the dialect of the application's database, or another of its family
	Now        func() *dialect.Dialect // returns the dialect of the application's database, as far as it is known now; nil if the field dialect is right
	configured map[string]ConfiguredStore
	Drops      *atomic.Uint64 // counts the texts of the application that drop something; nil if they are not counted

	mu     sync.Mutex
	opened map[string]*openStore // by name; "" is the application's database
	closed bool

	looks    sync.WaitGroup // the questions whether other servers write into a store too
	endLooks []context.CancelFunc
}

// openStore is a store with its pool of connections.
type openStore struct {
	*store.Store
	db *sql.DB

	isOwn atomic.Pointer[bool] // whether the store is the application's own database; nil if that is not known

	looked bool // it was asked whether other servers write into the store too; guarded by Stores.mu
}

// ConfiguredStore is a store that the policy names: a database, or a store without
// SQL.
type ConfiguredStore struct {
	Connector driver.Connector // made for this store only
	dialect   *dialect.Dialect

	Plain keysource.Store // the store if it is one without SQL; nil for a database
}

// Close closes the connections of the store.
func (c ConfiguredStore) Close() error {
	if c.Plain != nil {
		return c.Plain.Close()
	}
	if c, ok := c.Connector.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// ErrMountClosed is returned when the database was closed while a key was drawn.
var ErrMountClosed = anchor.New("closed", "the database is closed")

// NewOwnStore returns the application's database as the only store.
func NewOwnStore(d *dialect.Dialect, own driver.Connector) *Stores {
	return &Stores{Own: own, dialect: d, configured: map[string]ConfiguredStore{}, opened: map[string]*openStore{}}
}

// NewStores returns the stores of a policy. It checks, without I/O, that the drivers
// are registered and known, that the variables with the DSNs are set, and that the
// drivers can parse the DSNs.
func NewStores(cfg *policy.Config, d *dialect.Dialect, own driver.Connector) (*Stores, error) {
	s := NewOwnStore(d, own)
	for _, name := range slices.Sorted(maps.Keys(cfg.Stores)) {
		c, err := OpenConfigured(cfg.Stores[name])
		if err != nil {
			_ = s.Close() // closes the connectors of the other stores
			return nil, fmt.Errorf("keyfill: store %q: %w", name, err)
		}
		s.configured[name] = c
	}
	return s, nil
}

// Get returns a store by its name in the policy; "" is the application's database. It
// does no I/O.
func (s *Stores) Get(name string) (*store.Store, error) {
	o, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return o.Store, nil
}

// States returns what keeps stored counters in the store with this name in the policy;
// "" is the application's database. It does no I/O.
func (s *Stores) States(name string) (StateStore, error) {
	s.mu.Lock()
	plain, closed := s.configured[name].Plain, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, ErrMountClosed
	case plain != nil:
		return plainStates{plain}, nil
	}
	at, err := s.Get(name)
	if err != nil {
		return nil, err
	}
	return TableStates{at}, nil
}

// IsOwn reports whether a store that the policy names is the application's own
// database. It returns an error if it cannot find out.
func (s *Stores) IsOwn(ctx context.Context, name string) (bool, error) {
	s.mu.Lock()
	at, named := s.configured[name]
	s.mu.Unlock()
	if !named || at.Plain != nil || !at.dialect.SharesFamily(s.dialect) {
		return false, nil
	}
	own, err := s.open("")
	if err != nil {
		return false, err
	}
	other, err := s.open(name)
	if err != nil {
		return false, err
	}
	if known := other.isOwn.Load(); known != nil {
		return *known, nil
	}
	same, err := binding.Shares(ctx, other.Store, own.Store)
	if err == nil {
		other.isOwn.Store(&same)
	}
	return same, err
}

// Catalog returns a Querier for the catalog of the application's database.
func (s *Stores) Catalog() (catalog.Querier, error) {
	o, err := s.open("")
	if err != nil {
		return nil, err
	}
	switch facts, _ := drivers.Of(o.db.Driver()); {
	case !facts.PreparesArguments:
		return catalog.DB(o.db), nil
	case o.Dialect.Params.Dollar:
		return catalog.Writing(o.db, dbconn.WriteDollar), nil
	}
	return catalog.Writing(o.db, dbconn.WriteASCII), nil
}

func (s *Stores) open(name string) (*openStore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrMountClosed
	}
	if o := s.opened[name]; o != nil {
		return o, nil
	}
	at := ConfiguredStore{Connector: s.Own, dialect: s.dialect}
	if s.Now != nil {
		at.dialect = s.Now()
	}
	if name != "" {
		at = s.configured[name]
	}
	o := &openStore{db: store.Pool(at.dialect, at.Connector)}
	o.Store = store.New(at.dialect, o.db)
	if name == "" && s.Drops != nil {
		o.Store.CountDrops(s.Drops)
	}
	s.opened[name] = o
	return o, nil
}

// OpenConfigured opens a store that the policy names. Its errors omit the driver's
// text, which may repeat the DSN.
func OpenConfigured(c policy.Store) (ConfiguredStore, error) {
	none := ConfiguredStore{}
	if !slices.Contains(sql.Drivers(), c.Driver) {
		return none, anchor.Errorf("driver", "no driver named %q is registered: import its package", c.Driver)
	}
	if endpoints, given, err := c.ResolveEndpoints(); given || err != nil {
		if err != nil {
			return none, err
		}
		return openEndpoints(c.Driver, endpoints)
	}
	dsn, err := c.Resolve()
	if err != nil {
		return none, err
	}
	refused := anchor.Errorf("driver", "driver %q cannot read the DSN: mend it (the message of the driver is left out, since it may repeat the DSN)", c.Driver)
	plain, err := sql.Open(c.Driver, dsn)
	if err != nil {
		return none, refused
	}
	d := plain.Driver()
	if err := plain.Close(); err != nil {
		return none, anchor.Errorf("driver", "driver %q cannot be closed", c.Driver)
	}
	if plain, ok := d.(keysource.StoreDriver); ok {
		opened, err := plain.OpenStore(dsn)
		if err != nil || opened == nil {
			return none, refused
		}
		return ConfiguredStore{Plain: opened}, nil
	}
	facts, known := drivers.Of(d)
	switch {
	case !known:
		return none, anchor.Errorf("driver", "the driver of package %q is not known", cmp.Or(drivers.PackagePath(d), "(none: another wrapper's)"))
	case facts.Family:
		// A store sends the same statements to MySQL and MariaDB, so one dialect serves
		// both.
		facts.Dialect = dialect.MySQL()
	}
	opened := ConfiguredStore{dialect: facts.Dialect}
	if opened.Connector, err = dbconn.Open(d, dsn); err != nil {
		return none, refused
	}
	if !facts.ReadsDSN(opened.Connector, dsn) {
		_ = opened.Close() // the error to report is that the DSN was refused
		return none, refused
	}
	return opened, nil
}

// openEndpoints opens a store for which the policy lists servers instead of a DSN.
func openEndpoints(name string, e keysource.Endpoints) (ConfiguredStore, error) {
	none := ConfiguredStore{}
	var d driver.Driver
	if opened, err := sql.Open(name, ""); err == nil { // a driver of databases may refuse the empty DSN
		d = opened.Driver()
		if err := opened.Close(); err != nil {
			return none, anchor.Errorf("driver", "driver %q cannot be closed", name)
		}
	}
	of, ok := d.(keysource.EndpointsDriver)
	if !ok {
		return none, anchor.Errorf("driver", "driver %q takes no endpoints: write dsn_env or dsn instead", name)
	}
	opened, err := of.OpenEndpoints(e)
	switch {
	case err != nil:
		return none, anchor.Errorf("driver", "driver %q cannot use the store as it is described, mend that: %w", name, err)
	case opened == nil:
		return none, anchor.Errorf("driver", "driver %q opens no store: take another version of its package", name)
	}
	return ConfiguredStore{Plain: opened}, nil
}

// Close closes the pools. Keys cannot be drawn from the stores after that.
func (s *Stores) Close() error {
	defer s.endLooksForPeers()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, o := range s.opened {
		// A connection that has outlived its server fails when it is closed. It does not
		// belong to the application, and nothing on it can be lost.
		_ = o.db.Close()
	}
	for _, c := range s.configured {
		errs = append(errs, c.Close())
	}
	clear(s.opened)
	clear(s.configured)
	return errors.Join(errs...)
}

// OpenStore returns the connector and the dialect of a store that the policy names;
// both are nil if it is a store without SQL. It does no I/O. Its errors omit the
// driver's text, which may repeat the DSN.
func OpenStore(c policy.Store) (driver.Connector, *dialect.Dialect, error) {
	opened, err := OpenConfigured(c)
	if err == nil && opened.Plain != nil {
		return nil, nil, opened.Close()
	}
	return opened.Connector, opened.dialect, err
}

// ReachStore asks a store without SQL whether it would accept a change, and changes
// nothing. asked is false if its driver cannot find that out, or if the store is a
// database. The error may be shown.
func ReachStore(ctx context.Context, c policy.Store) (asked bool, err error) {
	opened, err := OpenConfigured(c)
	if err != nil || opened.Plain == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	at, asked := opened.Plain.(interface{ Reach(context.Context) error })
	if !asked {
		return false, nil
	}
	if err := at.Reach(ctx); err != nil {
		return true, errors.New(report.ShownError(err))
	}
	return true, nil
}
