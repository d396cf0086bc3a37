package policy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/keysource"
)

// endpointPattern matches the address of a server, without a user or a password.
const endpointPattern = `^([a-z]+://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$`

var endpoint = regexp.MustCompile(endpointPattern)

const endpointMessage = "want host:port, or https://host:port; a user and a password have fields of their own"

// hasEndpoints reports whether the store has any field of those with endpoints.
func (s Store) hasEndpoints() bool {
	return len(s.Endpoints) > 0 || s.EndpointsEnv != "" || s.Prefix != "" || s.UserEnv != "" || s.PasswordEnv != "" || s.TLS != nil
}

// ResolveEndpoints returns what a keysource.EndpointsDriver opens. given is false for a
// store with a DSN. It reads the environment; the error is an [*Error] that names the
// variable, which is not set, or does not hold addresses.
func (s Store) ResolveEndpoints() (e keysource.Endpoints, given bool, err error) {
	none := keysource.Endpoints{}
	if len(s.Endpoints) == 0 && s.EndpointsEnv == "" {
		return none, false, nil
	}
	e = keysource.Endpoints{Addresses: append([]string(nil), s.Endpoints...), Prefix: s.Prefix}
	if s.EndpointsEnv != "" {
		text, err := fromEnv(s.EndpointsEnv, "the addresses of the servers")
		if err != nil {
			return none, true, err
		}
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			if !endpoint.MatchString(part) {
				return none, true, &Error{Msg: fmt.Sprintf("the environment variable %s holds something else than addresses; write host:port or https://host:port, with commas between them and without a password", show(s.EndpointsEnv))}
			}
			e.Addresses = append(e.Addresses, part)
		}
	}
	if s.UserEnv != "" {
		if e.User, err = fromEnv(s.UserEnv, "the user"); err != nil {
			return none, true, err
		}
	}
	if s.PasswordEnv != "" {
		if e.Password, err = fromEnv(s.PasswordEnv, "the password"); err != nil {
			return none, true, err
		}
	}
	if s.TLS != nil {
		copied := *s.TLS
		e.TLS = &copied
	}
	return e, true, nil
}

// checkWhere checks that one field of the store at p says where it is.
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
				k.wrong(p.in(f.field), "the DSN says it; leave this out, or write endpoints_env in the place of the DSN")
			}
		}
	}
	if s.TLS != nil && (s.TLS.Cert == "") != (s.TLS.Key == "") {
		k.wrong(p.in("tls"), "cert and key belong together; write both, or neither")
	}
}

var storeTLSFields = []field[keysource.StoreTLS]{
	bind("ca", "The file in PEM with the authorities that sign the certificates of the servers. Left out, they are those of the system.",
		text, func(t *keysource.StoreTLS) *string { return &t.CA }).as("/etc/keyfill/ca.pem"),
	bind("cert", "The file in PEM with the certificate of the client. Left out, the servers ask for none.",
		text, func(t *keysource.StoreTLS) *string { return &t.Cert }).as("/etc/keyfill/client.pem"),
	bind("key", "The file in PEM with the key of cert. Left out, so is cert.",
		text, func(t *keysource.StoreTLS) *string { return &t.Key }).as("/etc/keyfill/client.key"),
	bind("server_name", "The name in the certificates of the servers. Left out, it is the host of each address.",
		text, func(t *keysource.StoreTLS) *string { return &t.ServerName }).as("etcd.internal"),
}
