package execution

import (
	"context"
	"time"
)

// AsidePatience is how long a statement that has succeeded waits for queries about its
// rows.
const AsidePatience = 10 * time.Second

// Aside returns a context for queries about a statement that has succeeded: if the
// caller's context ends just then, the queries still run, and the connection is not
// lost.
func Aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), AsidePatience)
}

// AskedAgain is how long to wait before a table is queried again whose rows could not
// be read.
const AskedAgain = time.Minute
