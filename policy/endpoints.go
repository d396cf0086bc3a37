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

// hasEndpoints reports whether the store has any of the fields that describe servers
// instead of a DSN.
func (s Store) hasEndpoints() bool {
	return len(s.Endpoints) > 0 || s.EndpointsEnv != "" || s.Prefix != "" || s.UserEnv != "" || s.PasswordEnv != "" || s.TLS != nil
}

// ResolveEndpoints returns the servers' addresses and the account of a store, for a
// keysource.EndpointsDriver. given is false for a store with a DSN. It reads the
// environment. The error is an [*Error] that names a variable that is not set or does
// not hold addresses.
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
