package keyfillredis

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/sqlcode"
)

// go-redis has one logger for the whole process, which by default writes to stderr each
// time that a server cannot be reached. This logger replaces it. A program that calls
// redis.SetLogger replaces this one again.
func init() { redis.SetLogger(clientLog{}) }

// clientLog writes the lines of the client to slog's default logger, without the texts in them:
// a host, a name or an error may hold a piece of a DSN.
type clientLog struct{}

func (clientLog) Printf(ctx context.Context, format string, args ...any) {
	log := slog.Default()
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = shownArgument(arg)
	}
	log.DebugContext(ctx, "keyfillredis: the client says: "+fmt.Sprintf(format, shown...))
}

// shownArgument returns the part of an argument that a line may hold: numbers, and the
// meaning of an error of the network.
func shownArgument(arg any) any {
	if err, ok := arg.(error); ok {
		return sqlcode.Connecting(err)
	}
	if v := reflect.ValueOf(arg); v.IsValid() && (v.CanInt() || v.CanUint()) {
		return arg
	}
	return "…"
}
