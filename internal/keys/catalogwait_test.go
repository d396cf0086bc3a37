package keys_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/keysource"
)

// full is the answer of a PostgreSQL that has no connection left.
type full struct{}

func (full) Error() string    { return "sorry, too many clients already" }
func (full) SQLState() string { return "53300" }

// TestAskCatalogTimeUp: a try that the end of the wait cuts off does not hide what the
// server has answered before.
func TestAskCatalogTimeUp(t *testing.T) {
	asked := 0
	err := keys.AskCatalog(t.Context(), dialect.PostgreSQL(), 50*time.Millisecond, func(ctx context.Context) error {
		if asked++; asked == 1 {
			return full{}
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(err.Error(), "too many clients") {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
