package keys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
)

// askCatalog asks the catalog on a connection of our own. Where the server has no
// connection left, it asks again for as long as wait, which is the policy's store_wait.
// What the driver says is formatted: a driver.ErrBadConn would make database/sql throw
// away the application's connection.
func askCatalog(ctx context.Context, d *dialect.Dialect, wait time.Duration, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := firstCatalogPause; ; pause = min(2*pause, longestCatalogPause) {
		err := ask(limited)
		switch class := sqlcode.ClassOf(d, err); {
		case err == nil, errors.Is(err, catalog.ErrNoTable):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case class.Final():
			return fmt.Errorf("%w: the catalog cannot be read: %v", keysource.ErrStoreState, err)
		case class != dialect.ErrorPassing || !isPausing(limited, pause):
			return fmt.Errorf("%w: the catalog cannot be read: %v", keysource.ErrStoreDown, err)
		}
	}
}

// The pauses before the catalog is asked again.
const (
	firstCatalogPause   = 2 * time.Millisecond
	longestCatalogPause = 200 * time.Millisecond
)

// isPausing waits, and reports whether the context has not ended meanwhile.
func isPausing(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
