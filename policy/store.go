package policy

import (
	"fmt"
	"os"
	"regexp"

	"github.com/keyfill/keyfill/keysource"
)

// Store is a database that keeps the states (counters) of sources, or a store without SQL,
// whose driver is a keysource.StoreDriver. Its DSN is in no error of this package, and is
// not shown when a Store is printed.
type Store struct {
	// Driver is the name that the driver is registered by.
	Driver string

	// DSN is the text that the driver opens. It is better kept in an environment
	// variable, see DSNEnv.
	DSN string

	// DSNEnv is the name of the environment variable that holds the DSN. Exactly one of
	// DSN, DSNEnv, Endpoints and EndpointsEnv is given.
	DSNEnv string

	// Endpoints are the addresses of the servers, for a driver that is a
	// keysource.EndpointsDriver: host:port, or https://host:port for TLS.
	Endpoints []string

	// EndpointsEnv is the name of the environment variable that holds the endpoints,
	// with commas between them.
	EndpointsEnv string

	// Prefix is the beginning of every key that is written to the store. Empty means the
	// driver's default. Prefix and the fields after it may be set only for a store with
	// Endpoints or EndpointsEnv.
	Prefix string

	// UserEnv and PasswordEnv are the names of the environment variables that hold the user
	// and the password. Empty means that the store needs none.
	UserEnv, PasswordEnv string

	// TLS configures how the connections are secured. If it is nil, the addresses decide.
	TLS *keysource.StoreTLS
}

// Resolve returns the DSN. It reads the environment. The error is an [*Error] that
// names a variable that is not set or is empty. A store with endpoints has no DSN: see
// [Store.ResolveEndpoints].
func (s Store) Resolve() (dsn string, err error) {
	if s.DSNEnv == "" {
		return s.DSN, nil
	}
	return fromEnv(s.DSNEnv, "the DSN")
}

// fromEnv returns the value of an environment variable, or an error if it is not set.
func fromEnv(variable, what string) (string, error) {
	value := os.Getenv(variable)
	if value == "" {
		return "", &Error{Msg: fmt.Sprintf("the environment variable %s is not set; let it hold %s", show(variable), what)}
	}
	return value, nil
}

// String returns the store without its DSN and its addresses.
func (s Store) String() string {
	dsn := `""`
	if s.DSN != "" {
		dsn = hidden
	}
	text := fmt.Sprintf("{Driver:%s DSN:%s DSNEnv:%s", show(s.Driver), dsn, show(s.DSNEnv))
	if s.hasEndpoints() {
		text += fmt.Sprintf(" Endpoints:%d EndpointsEnv:%s Prefix:%s UserEnv:%s PasswordEnv:%s TLS:%t",
			len(s.Endpoints), show(s.EndpointsEnv), show(s.Prefix), show(s.UserEnv), show(s.PasswordEnv), s.TLS != nil)
	}
	return text + "}"
}

// GoString returns the text of String for %#v.
func (s Store) GoString() string { return "policy.Store" + s.String() }

// StoreNone is written instead of the name of a store if the state of a snowflake is not to
// be stored at all; see [Source].
const StoreNone = "none"

// driverPattern matches the name of a driver. It keeps a DSN that was written into the
// wrong field out of messages.
const driverPattern = `^[A-Za-z0-9_./-]+$`

// variablePattern matches the name of an environment variable: POSIX.1-2017,
// 8.1, and lower case.
const variablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`

var (
	driverName   = regexp.MustCompile(driverPattern)
	variableName = regexp.MustCompile(variablePattern)
)

const variableMessage = "want the name of an environment variable, of ASCII letters, digits and _"
