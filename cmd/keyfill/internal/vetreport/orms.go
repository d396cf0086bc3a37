package vetreport

import (
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// orms are libraries that build INSERTs out of structs, so that no text of them is in the
// source: the path of their packages, or the part that these begin with, and their name.
var orms = []struct{ path, name string }{
	{"gorm.io/gorm", "GORM"},
	{"github.com/jinzhu/gorm", "GORM"},
	{"entgo.io/ent", "ent"},
	{"xorm.io/xorm", "xorm"},
}

// ormsOf returns the names of these libraries that files import, each once or more.
func ormsOf(files []*ast.File) (names []string) {
	for _, file := range files {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the package has a fault, which the report has
			}
			for _, orm := range orms {
				if path == orm.path || strings.HasPrefix(path, orm.path+"/") {
					names = append(names, orm.name)
				}
			}
		}
	}
	return names
}

// ORMs returns a sentence about the libraries whose INSERTs are not in the source, and what
// shows them. It is empty if no package that was read imports such a library.
func (v *Report) ORMs() string {
	if len(v.orms) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(v.orms))
	return "The INSERTs of " + strings.Join(names, " and ") + " are not in the source, and not counted: run the program with KEYFILL_MODE=dry_run, or give keyfill explain a log of the server."
}
