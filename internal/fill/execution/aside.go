package execution

import (
	"context"
	"time"
)

// AsidePatience is how long a statement that has succeeded waits for the queries about
// its rows.
const AsidePatience = 10 * time.Second

// Aside returns the context of questions about a statement that has succeeded: a
// caller whose time is up just then is not to lose the connection for them.
func Aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), AsidePatience)
}

// AskedAgain is after how long a table whose rows could not be read is asked again.
const AskedAgain = time.Minute
