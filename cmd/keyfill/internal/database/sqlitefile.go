package database

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// errNoFile is returned if the file of a SQLite database does not exist. SQLite would
// create an empty database, in which every table is missing.
var errNoFile = errors.New("the DSN names a file that is not there: correct it, or make the database first")

// CheckFile returns an error if a DSN names a SQLite file that does not exist.
func CheckFile(driver, dsn string) error {
	if driver != "sqlite" {
		return nil
	}
	path := sqliteFile(dsn)
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return errNoFile
	}
	return nil
}

// sqliteFile returns the file that a DSN names for modernc.org/sqlite. It is empty for a
// database in memory, and if the DSN does not show which file SQLite opens.
func sqliteFile(dsn string) string {
	path, query, _ := strings.Cut(dsn, "?")
	values, err := url.ParseQuery(query)
	if err != nil || values.Has("vfs") {
		return ""
	}
	if strings.HasPrefix(dsn, "file:") {
		u, err := url.Parse(path)
		if err != nil || values.Get("mode") == "memory" {
			return ""
		}
		path = u.Path
		if u.Opaque != "" {
			if path, err = url.PathUnescape(u.Opaque); err != nil {
				return ""
			}
		}
	}
	if path == ":memory:" {
		return ""
	}
	return path
}

// FileDSN returns the DSN of a SQLite file. It is a URL, since a path may contain ? or %.
func FileDSN(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}
