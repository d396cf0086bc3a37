package policy

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/keyfill/keyfill/keysource"
)

// Store is a database that keeps the states of sources, or a store without SQL, whose
// driver is a keysource.StoreDriver. Its DSN is in no error of this package, and not
// shown when it is printed.
type Store struct {
	// Driver is the name that the driver is registered by.
	Driver string

	// DSN is the text that the driver opens. It is better kept in a variable.
	DSN string

	// DSNEnv is the name of the environment variable that holds the DSN. Of
	// DSN, DSNEnv, Endpoints and EndpointsEnv exactly one is given.
	DSNEnv string

	// Endpoints are the addresses of the servers, for a driver that is a
	// keysource.EndpointsDriver: host:port, or https://host:port for TLS.
	Endpoints []string

	// EndpointsEnv is the name of the environment variable that holds the endpoints,
	// with commas between them.
	EndpointsEnv string

	// Prefix begins the names of all that is kept in the store. "" stands for the
	// driver's own. It is given with endpoints alone, as are the fields below.
	Prefix string

	// UserEnv and PasswordEnv are the names of the environment variables that hold the
	// user and the password. "" stands for none.
	UserEnv, PasswordEnv string

	// TLS says how the connections are secured. nil stands for the addresses, which may
	// say so.
	TLS *keysource.StoreTLS
}

// Resolve returns the DSN. It reads the environment; the error is an [*Error]
// that names the variable, which is not set or empty. A store with endpoints has no
// DSN: see [Store.ResolveEndpoints].
func (s Store) Resolve() (dsn string, err error) {
	if s.DSNEnv == "" {
		return s.DSN, nil
	}
	return fromEnv(s.DSNEnv, "the DSN")
}

// fromEnv returns the value of a variable, which has to be set.
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

// GoString is String, for %#v.
func (s Store) GoString() string { return "policy.Store" + s.String() }

// StoreNone stands in the place of a store's name for a snowflake whose
// state is stored nowhere; see [Source].
const StoreNone = "none"

// driverPattern matches the name of a driver. It keeps a DSN that stands in the
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

func (k checker) checkStores() {
	stores := place{}.in("stores")
	for _, name := range slices.Sorted(maps.Keys(k.config.Stores)) {
		p, s := stores.entry(name), k.config.Stores[name]
		switch {
		case !sourceName.MatchString(name):
			k.wrong(p, "a store's name is of ASCII letters, digits, _ and -")
		case name == StoreNone:
			k.wrong(p, "the name stands for no store; take another")
		}
		switch {
		case s.Driver == "":
			k.wrong(p, "driver is missing")
		case !driverName.MatchString(s.Driver):
			k.wrong(p.in("driver"), "want the name that a driver is registered by, of ASCII letters, digits, _, ., / and -")
		}
		k.checkWhere(p, s)
		k.checkEndpoints(p, s)
	}
}

// checkStoreOf checks that the store of the source at p is one of the file's.
func (k checker) checkStoreOf(p place, s Source) {
	k.checkUpstreamOf(p, s)
	if s.Store == "" || s.Store == StoreNone || k.unread[place{}.in("stores")] {
		return
	}
	if _, ok := k.config.Stores[s.Store]; !ok {
		names := slices.Sorted(maps.Keys(k.config.Stores))
		if s.Kind == KindSnowflake || s.Kind == KindComposite {
			names = append(names, StoreNone)
		}
		k.wrongField(p.in("store"), unknownStore(s.Store, names))
	}
}

// unknownStore is [unknownWord] for a store, of which there may be none.
func unknownStore(got string, names []string) string {
	if len(names) == 0 {
		return fmt.Sprintf("unknown store %s; describe it under stores:", show(got))
	}
	return unknownWord("store", got, names)
}

func storesShape() shape[map[string]Store] {
	one := object(storeFields)
	one.schema = one.schema.with("oneOf", []schema{
		{"required": []string{"dsn_env"}}, {"required": []string{"dsn"}},
		{"required": []string{"endpoints_env"}}, {"required": []string{"endpoints"}},
	})
	s := section(one)
	s.schema = s.schema.with("propertyNames", schema{
		"pattern": sourceNamePattern, "not": schema{"enum": []string{StoreNone}},
	})
	return s
}

var storeFields = []field[Store]{
	must("driver: mysql", bind("driver", "The name by which the driver is registered.",
		text.matching(driverPattern), func(s *Store) *string { return &s.Driver })).as("mysql"),
	bind("dsn", "The text that the driver opens. Left out, dsn_env names the variable that holds the text, which keeps a password out of the file.",
		text, func(s *Store) *string { return &s.DSN }).as("file:keys.db"),
	bind("dsn_env", "The environment variable that holds the text that the driver opens. Left out, dsn is that text.",
		text.matching(variablePattern), func(s *Store) *string { return &s.DSNEnv }).as("APP_CENTRAL_DSN"),
	bind("endpoints", "The addresses of the servers, for a driver of a cluster such as etcd: host:port, or https://host:port for TLS. Left out, endpoints_env names the variable that holds them, or there is a DSN.",
		list(text.matching(endpointPattern)), func(s *Store) *[]string { return &s.Endpoints }).as([]string{"https://etcd-1:2379", "https://etcd-2:2379"}),
	bind("endpoints_env", "The environment variable that holds the addresses of the servers, with commas between them. Left out, endpoints has them, or there is a DSN.",
		text.matching(variablePattern), func(s *Store) *string { return &s.EndpointsEnv }).as("APP_ETCD"),
	bind("prefix", "What begins the names of all that is kept in the store, with endpoints. Left out, it is what the driver's package documents.",
		text, func(s *Store) *string { return &s.Prefix }).as("shop/keyfill/"),
	bind("user_env", "The environment variable that holds the user, with endpoints. Left out, there is none.",
		text.matching(variablePattern), func(s *Store) *string { return &s.UserEnv }).as("APP_ETCD_USER"),
	bind("password_env", "The environment variable that holds the password, with endpoints. Left out, there is none.",
		text.matching(variablePattern), func(s *Store) *string { return &s.PasswordEnv }).as("APP_ETCD_PASSWORD"),
	bind("tls", "How the connections are secured, with endpoints. {} stands for TLS with the authorities of the system. Left out, the addresses say whether there is TLS.",
		optional(object(storeTLSFields)), func(s *Store) **keysource.StoreTLS { return &s.TLS }).as(schema{"ca": "/etc/keyfill/ca.pem"}),
}
