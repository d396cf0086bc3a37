package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/keyfill/keyfill/keysource"
)

// checkWhere checks that exactly one field of the store at p says where the store is.
func (k checker) checkWhere(p place, s Store) {
	said := ""
	for _, way := range []struct {
		field string
		given bool
	}{
		{"dsn_env", s.DSNEnv != ""}, {"dsn", s.DSN != ""},
		{"endpoints_env", s.EndpointsEnv != ""}, {"endpoints", len(s.Endpoints) > 0},
	} {
		switch {
		case way.given && said != "":
			k.wrong(p.in(way.field), "%s says it already; take one", said)
		case way.given:
			said = way.field
		}
	}
	if said == "" {
		k.wrong(p, "neither dsn_env nor dsn, nor endpoints_env or endpoints: where is the store?")
	}
}

// checkEndpoints checks the fields of the store at p that name servers and variables.
func (k checker) checkEndpoints(p place, s Store) {
	for _, v := range []struct{ field, name string }{
		{"dsn_env", s.DSNEnv}, {"endpoints_env", s.EndpointsEnv}, {"user_env", s.UserEnv}, {"password_env", s.PasswordEnv},
	} {
		if v.name != "" && !variableName.MatchString(v.name) {
			k.wrong(p.in(v.field), "%s", variableMessage)
		}
	}
	for _, address := range s.Endpoints {
		if !endpoint.MatchString(address) {
			k.wrong(p.in("endpoints"), "%s", endpointMessage)
			break
		}
	}
	if s.DSN != "" || s.DSNEnv != "" {
		for _, f := range []struct {
			field string
			given bool
		}{{"prefix", s.Prefix != ""}, {"user_env", s.UserEnv != ""}, {"password_env", s.PasswordEnv != ""}, {"tls", s.TLS != nil}} {
			if f.given {
				k.wrong(p.in(f.field), "the DSN says it; leave this out, or write endpoints_env instead of the DSN")
			}
		}
	}
	if s.TLS != nil && (s.TLS.Cert == "") != (s.TLS.Key == "") {
		k.wrong(p.in("tls"), "cert and key belong together; write both, or neither")
	}
}

var storeTLSFields = []field[keysource.StoreTLS]{
	bind("ca", "The file in PEM with the authorities that sign the certificates of the servers. Left out, they are the system's.",
		text, func(t *keysource.StoreTLS) *string { return &t.CA }).as("/etc/keyfill/ca.pem"),
	bind("cert", "The file in PEM with the certificate of the client. Left out, the servers ask for none.",
		text, func(t *keysource.StoreTLS) *string { return &t.Cert }).as("/etc/keyfill/client.pem"),
	bind("key", "The file in PEM with the key of cert. Left out, so is cert.",
		text, func(t *keysource.StoreTLS) *string { return &t.Key }).as("/etc/keyfill/client.key"),
	bind("server_name", "The name in the certificates of the servers. Left out, it is the host of each address.",
		text, func(t *keysource.StoreTLS) *string { return &t.ServerName }).as("etcd.internal"),
}

func (k checker) checkStores() {
	stores := place{}.in("stores")
	for _, name := range slices.Sorted(maps.Keys(k.config.Stores)) {
		p, s := stores.entry(name), k.config.Stores[name]
		switch {
		case !sourceName.MatchString(name):
			k.wrong(p, "a store's name is of ASCII letters, digits, _ and -")
		case name == StoreNone:
			k.wrong(p, "the name none means that there is no store; give the store another name")
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

// unknownStore is [unknownWord] for the name of a store. The file may have no stores.
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

// checkUpstreamOf checks that the upstream of the source at p is one of the file's stores.
func (k checker) checkUpstreamOf(p place, s Source) {
	if s.Upstream == "" || s.Upstream == StoreNone || k.unread[place{}.in("stores")] {
		return
	}
	if _, ok := k.config.Stores[s.Upstream]; !ok {
		k.wrongField(p.in("upstream"), unknownStore(s.Upstream, slices.Sorted(maps.Keys(k.config.Stores))))
	}
}
