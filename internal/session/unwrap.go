package session

import (
	"context"
	"database/sql/driver"
)

// unwrapKey is the context's key of the sink in which [Conn.Ping] stores the driver's
// connection.
type unwrapKey struct{}

// unwrapSink holds the driver's connection for Unwrap.
type unwrapSink struct{ conn driver.Conn }

// Unwrap returns the driver's own connection from a Conn, through any wrapper that passes
// Ping on; any other connection is returned unchanged.
func Unwrap(conn any) any {
	p, ok := conn.(driver.Pinger)
	if !ok {
		return conn
	}
	var sink unwrapSink
	// A connection that is not a Conn is only pinged; the result does not matter.
	_ = p.Ping(context.WithValue(context.Background(), unwrapKey{}, &sink))
	if sink.conn == nil {
		return conn
	}
	return sink.conn
}
