package database

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// errNoFile means that a database of SQLite is not there. SQLite would make an empty one,
// in which every table is missing.
var errNoFile = errors.New("the DSN names a file that is not there: correct it, or make the database first")

// CheckFile fails where a DSN names a file of SQLite that is not there.
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

// sqliteFile returns the file that a DSN names for modernc.org/sqlite; empty for a
// database in memory, and if the file is not known.
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

// FileDSN returns the DSN of a file. It has to be a URL: a path may hold ? or %.
func FileDSN(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}
