package session

import (
	"context"
	"database/sql/driver"
)

// unwrapKey is the key of the sink under which unwrap asks a connection for
// the one below.
type unwrapKey struct{}

// unwrapSink takes the driver's connection.
type unwrapSink struct{ conn driver.Conn }

// Unwrap returns the driver's own connection below one of ours, through any wrapper that
// passes Ping on; any other connection comes back unchanged.
func Unwrap(conn any) any {
	p, ok := conn.(driver.Pinger)
	if !ok {
		return conn
	}
	var sink unwrapSink
	// A connection that is not ours is pinged: its answer is not our business.
	_ = p.Ping(context.WithValue(context.Background(), unwrapKey{}, &sink))
	if sink.conn == nil {
		return conn
	}
	return sink.conn
}
