package conformance

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// folder is the place of a run on SQLite: a folder beside the file that the DSN names, on
// the same file system.
type folder struct {
	path string
	dsn  string // of the database in the folder, with the settings of the given DSN
}

// The files of a folder. SQLite makes those with an ending beside the database.
const (
	database = "conformance.db"
	markFile = "made-by-keyfill-conformance"
)

var files = []string{database, database + "-wal", database + "-shm", database + "-journal", markFile}

var errDSN = errors.New("the DSN cannot be read: write it as the driver's documentation says")

// splitDSN returns the path in a DSN of SQLite, and what follows it. The path is empty for
// a database in memory.
func splitDSN(dsn string) (path, settings string, err error) {
	path, settings, _ = strings.Cut(dsn, "?")
	values, err := url.ParseQuery(settings)
	if err != nil {
		return "", "", errDSN
	}
	if strings.HasPrefix(path, "file:") {
		u, err := url.Parse(path)
		if err != nil {
			return "", "", errDSN
		}
		path = u.Path
		if u.Opaque != "" {
			if path, err = url.PathUnescape(u.Opaque); err != nil {
				return "", "", errDSN
			}
		}
	}
	if path == "" || path == ":memory:" || values.Get("mode") == "memory" {
		return "", "", anchor.Last("command", "the database is in memory, where each connection has its own: name a file in the DSN")
	}
	values.Del("mode")  // the database of the run is made and written to
	values.Del("cache") // each connection is one of its own
	return path, values.Encode(), nil
}

// folderOf returns the folder of a name, without making it.
func folderOf(dsn, name string) (*folder, error) {
	path, settings, err := splitDSN(dsn)
	if err != nil {
		return nil, err
	}
	f := &folder{path: filepath.Join(filepath.Dir(path), name)}
	slashed := filepath.ToSlash(filepath.Join(f.path, database))
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: slashed}).EscapedPath(), RawQuery: settings}
	f.dsn = u.String()
	return f, nil
}

// makeFolder makes a folder of a name, with its mark.
func makeFolder(dsn, name string) (*folder, error) {
	f, err := folderOf(dsn, name)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(f.path, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, errExists
		}
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(f.path, markFile), []byte(name+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// openFolder returns a folder that is there.
func openFolder(dsn, name string) (*folder, error) {
	f, err := folderOf(dsn, name)
	if err != nil {
		return nil, err
	}
	if _, err = os.Stat(f.path); errors.Is(err, os.ErrNotExist) {
		return nil, anchor.Lastf("command", "there is no folder %s: give one that the command has printed", name)
	}
	return f, err
}

// removeIfMarked removes a folder that has the mark, or holds nothing: a run that was
// killed before it wrote the mark leaves such a one.
func (f *folder) removeIfMarked() error {
	text, err := os.ReadFile(filepath.Join(f.path, markFile))
	if err == nil && strings.TrimSpace(string(text)) == filepath.Base(f.path) {
		return f.remove()
	}
	if os.Remove(f.path) == nil {
		return nil
	}
	return errNotOurs
}

// remove removes the files of a run, the mark last, and the folder, which must then be
// empty.
func (f *folder) remove() error {
	for _, name := range files {
		if err := os.Remove(filepath.Join(f.path, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Remove(f.path)
}

// folders returns the names of the folders beside the file that a DSN names.
func folders(dsn string) (all []string, err error) {
	path, _, err := splitDSN(dsn)
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), prefix+"*"))
	for _, path := range found {
		if name := filepath.Base(path); isPlace.MatchString(name) {
			all = append(all, name)
		}
	}
	return all, err
}
