package keysource

//row:changes | a store without SQL | a module with a `keysource.StoreDriver` (`keysource/store.go`), such as `keyfilletcd` and `keyfillredis` (`keyfillredis/lua`); `internal/keys/statestore/plainstates.go` uses it, `internal/storetest` tests it

import (
	"context"
	"time"
)

// StoreDriver is a driver whose database keeps the states of sources, such as counters,
// without SQL, as etcd and Redis can. Its package registers it by a name as every driver
// is registered, with sql.Register in an init function: Open of such a driver.Driver
// returns an error. An application imports the package, and names the driver under
// stores: in the policy file.
type StoreDriver interface {
	// OpenStore returns the store that a DSN names. It does no I/O: a missing server is
	// noticed at the first use. Its error is not shown, since the error may repeat the
	// DSN.
	OpenStore(dsn string) (Store, error)
}

// EndpointsDriver is a [StoreDriver] for servers that are listed one by one, as the
// servers of a cluster are: the policy file may have the field endpoints, and the
// fields that go with it, instead of a DSN.
type EndpointsDriver interface {
	StoreDriver

	// OpenEndpoints returns the store that the fields of e describe. Unlike the error
	// of OpenStore, its error is shown. The error names the field of the policy file
	// that is wrong, and holds no address, user or password; it may hold the path of a
	// file.
	OpenEndpoints(e Endpoints) (Store, error)
}

// Endpoints hold the addresses of a store's servers, and the account to use.
type Endpoints struct {
	Addresses []string // at least one: host:port, or a URL
	Prefix    string   // begins the names of all that is stored; empty means the driver's default
	User      string   // empty if no account is needed
	Password  string
	TLS       *StoreTLS // nil if no field of the policy file sets it; the addresses may still ask for TLS
}

// StoreTLS configures how the connections to a [Store] are secured.
type StoreTLS struct {
	// CA is the path of a file in PEM with the authorities that sign the servers'
	// certificates. Empty means the authorities of the system.
	CA string

	// Cert and Key are the paths of files in PEM with the client's certificate and its
	// key. Both are empty if the servers ask for none.
	Cert, Key string

	// ServerName is the name in the servers' certificates. Empty means the host of each
	// address.
	ServerName string
}

// Store keeps the states of sources, such as counters and leases. One [Store] serves
// the processes of several applications; a state is known by its name alone, whatever
// it is used for.
//
// A store must be durable: it never forgets an answer that it has given, and it never
// gives an answer that another process could get too. If it may lose its last commits, as
// at a failover without a quorum, its documentation says so, and [Reservation].Server
// identifies the server.
//
// All methods are safe for concurrent use. Except for Bind and Close they do no I/O: the
// values that they return look up the state at their first use, and create it if it is
// missing.
type Store interface {
	// Reserver returns the counter of a sequence.
	Reserver(s State) Reserver

	// Series returns the series (ranges of integers) of one owner, for a recycled source,
	// or for the workers' numbers that snowflakes lease.
	Series(s State, o SeriesOwner) SeriesStore

	// Marker returns the mark of one worker of a snowflake. Each worker of a state has its
	// own, which begins at 0: [State].First is not called. owner names, in at most 190
	// characters, the process that raises the mark, for people.
	Marker(s State, worker int64, owner string) Marker

	// Bind notes that the keys of a state go to a column, such as "orders.id". If
	// another state is noted for the column, Bind changes nothing and returns an error
	// that wraps [ErrStoreState], since two states that fill one column repeat each
	// other's keys. It does the same if this state is noted for the column with other
	// parameters, since two processes that lay out keys in different ways make equal
	// ones. Bind looks and notes in one atomic step. The note stays when the policy
	// changes.
	Bind(ctx context.Context, s State, column string) error

	// Close closes the connections. The states stay stored.
	Close() error
}

// State names the state that a [Store] keeps for one source, with its parameters.
type State struct {
	// Name has 1 to 190 characters and no space at either end.
	Name string

	// Parameters describe the facts that may never change, in at most 1,000 characters
	// that hold no secret. They are stored when the state is made. If a state was made
	// with other parameters, or for another kind of source, it is not used:
	// [ErrStoreState].
	Parameters string

	// Max is the greatest integer that is reserved, at least 1. A store that has no
	// integer left up to Max returns [ErrExhausted].
	Max int64

	// First returns the first integer of a missing state, which the store then makes.
	// It may ask the application's database. If it fails, the state is not made, and
	// its error is returned as it is. If two processes make one state at the same time,
	// the second uses the state of the first.
	First func(ctx context.Context) (int64, error)
}

// SeriesOwner names the owner of the series that a [SeriesStore] gives out, and
// describes the series.
type SeriesOwner struct {
	Size  int64         // how many integers a series has; it must never change
	Lease time.Duration // for how long a series (a range of integers) belongs to its owner, by the store's clock

	// Owner is a name of 1 to 190 characters that no other source has ever had, however
	// short it lives.
	Owner string
}
