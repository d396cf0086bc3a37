package approaches

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine describes in one line where and when something is measured, beside what
// other load, and with the time that a synced write takes in the folder for
// temporary files, where the servers keep their data.
func Machine() (string, error) {
	sync, err := syncTime(20)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; %d x %s, %s/%s, load %s; %s; a synced write takes %v",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH,
		load(), runtime.Version(), sync.Round(10*time.Microsecond)), nil
}

// load returns how many programs wanted a processor in the last minute, where Linux
// tells it: with other work beside it a measurement says little.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// processor returns the name of the first processor, where Linux tells it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}

// syncTime returns the mean time of n writes of a page that are synced.
func syncTime(n int) (time.Duration, error) {
	file, err := os.CreateTemp("", "keyfill-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	page := make([]byte, 4096)
	begin := time.Now()
	for range n {
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

// Describe returns the name and version of the server behind a DSN. It is an error
// where commits are not as durable as the form says, or more so.
func (e Engine) Describe(ctx context.Context, dsn string, f Form) (string, error) {
	connector, err := e.Connector(dsn)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var version, synced string
	if err := db.QueryRowContext(ctx, e.version).Scan(&version); err != nil {
		return "", err
	}
	if err := db.QueryRowContext(ctx, e.synced).Scan(&synced); err != nil {
		return "", err
	}
	if (synced == e.durable) != f.Durable {
		return "", fmt.Errorf("approaches: %s: the settings of commits are %q, want durable %v, which is %q", version, synced, f.Durable, e.durable)
	}
	return version, nil
}
