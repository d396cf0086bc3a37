package counter

import (
	"fmt"
	"os"
)

// owner returns the host and the process ID of this process, for people who look into
// the store.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if len(host) > 150 {
		host = host[:150]
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
