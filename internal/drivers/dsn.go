package drivers

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"reflect"
	"strings"

	"github.com/keyfill/keyfill/internal/sqlcode"
)

// ReadsDSN reports whether a driver can read the DSN from which the connector c was made.
// Nothing is sent anywhere. Drivers that read it when they connect are asked to, with a
// dialer that dials nothing, or with a context that has ended.
func (f *Facts) ReadsDSN(c driver.Connector, dsn string) bool {
	if f.ParsesURL && !isPostgresDSN(dsn) {
		return false
	}
	if !f.ParsesLate {
		return true
	}
	ctx := context.Background()
	if idle := withoutDialing(c, dsn); idle != nil {
		c = idle
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	conn, err := c.Connect(ctx)
	if err == nil {
		_ = conn.Close() // the connection is not needed
		return true
	}
	return errors.Is(err, context.Canceled) || sqlcode.IsNetwork(err)
}

// withoutDialing returns another connector of the DSN, which dials nothing; nil if the
// driver's connectors accept no dialer. The connectors of go-ora do, and need it: a context
// that ends during a connect makes two goroutines of the driver write to one connection.
func withoutDialing(c driver.Connector, dsn string) driver.Connector {
	if !reflect.ValueOf(c).MethodByName("Dialer").IsValid() {
		return nil
	}
	opener, ok := c.Driver().(driver.DriverContext)
	if !ok {
		return nil
	}
	idle, err := opener.OpenConnector(dsn)
	if err != nil {
		return nil
	}
	set := reflect.ValueOf(idle).MethodByName("Dialer")
	if !set.IsValid() || set.Type().NumIn() != 1 || !reflect.TypeFor[noDialer]().AssignableTo(set.Type().In(0)) {
		return nil
	}
	set.Call([]reflect.Value{reflect.ValueOf(noDialer{})})
	return idle
}

// noDialer dials nothing.
type noDialer struct{}

func (noDialer) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, context.Canceled
}

// isPostgresDSN reports whether a text is a connection string as libpq reads it: a URL,
// or words with values, which may be quoted (PostgreSQL 18 documentation, section
// 32.1.1). The meaning of the words is not examined.
func isPostgresDSN(dsn string) bool {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		_, err := url.Parse(dsn)
		return err == nil
	}
	rest := strings.TrimLeft(dsn, " \t\n\r")
	for rest != "" {
		word, after, found := strings.Cut(rest, "=")
		if word = strings.TrimRight(word, " \t\n\r"); !found || strings.ContainsAny(word, " \t\n\r'") {
			return false
		}
		var ok bool
		if rest, ok = afterValue(strings.TrimLeft(after, " \t\n\r")); !ok {
			return false
		}
		rest = strings.TrimLeft(rest, " \t\n\r")
	}
	return true
}

// afterValue returns the rest after a value of a connection string, and whether the value
// ends.
func afterValue(s string) (rest string, ok bool) {
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i == len(s) {
				return "", false
			}
		case quoted && c == '\'':
			return s[i+1:], true
		case !quoted && strings.IndexByte(" \t\n\r", c) >= 0:
			return s[i:], true
		}
	}
	return "", !quoted
}
