package keyfillredis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// twice sends every nth script twice and returns the second answer, like a client that
// has lost the first one.
type twice struct {
	every int64
	sent  *atomic.Int64
}

func (twice) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); err == nil && (name == "eval" || name == "evalsha") && w.sent.Add(1)%w.every == 0 {
			err = next(ctx, cmd)
		}
		return err
	}
}

func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestSentTwice: what a script reserves that is sent twice is a gap, and no source makes a key
// twice.
func TestSentTwice(t *testing.T) {
	server, prefix := shared.Need(t), newPrefix()
	open := func(t *testing.T, every int64) keysource.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		client.AddHook(twice{every, new(atomic.Int64)})
		name := "redis-" + rand.Text()
		if err := keyfillredis.Register(name, client); err != nil {
			t.Fatal(err)
		}
		return registered(t, name, prefix)
	}
	r := open(t, 1).Reserver(state("orders"))
	low := int64(1)
	for range 5 {
		got := storetest.Await(t, r, 10, 0)
		if got.First < low+10 {
			t.Errorf("below %d nothing was left, and what is sent twice reserves 20: %+v", low, got)
		}
		low = got.First + 10
	}
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			var all storetest.Seen
			for i := range 3 {
				draw(t, &all, open(t, 3), kind, fmt.Sprint("owner", i), 300)
			}
			other := openedBelow(t, prefix, server) // by a client that sends nothing twice
			draw(t, &all, other, kind, "other", 300)
		})
	}
}
