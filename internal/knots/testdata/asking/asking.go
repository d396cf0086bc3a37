// Package asking asks for an engine in each of the ways that a test counts.
package asking

import "github.com/keyfill/keyfill/dialect"

var (
	engines = map[dialect.Family]int{dialect.FamilyMySQL: 1, dialect.FamilyPostgreSQL: 2, dialect.FamilySQLite: 3}
	further = map[dialect.Family]string{dialect.FamilyMySQL: "a", dialect.FamilyOracle: "b"}
	indexed = [...]bool{dialect.FamilySQLite: true}
)

type engine struct{ *dialect.Dialect }

// IsPostgres asks for a method's sake.
func (e engine) IsPostgres() bool { return e.OneWriter }

func compares(d *dialect.Dialect, name string) bool {
	return d.Family == dialect.FamilyMySQL || d.Name != dialect.SQLite().Name || name == d.Name || name == further[d.Family] || d.Name == "oracle"
}

func switches(d *dialect.Dialect) int {
	switch d.Family {
	case dialect.FamilyMySQL, dialect.FamilyOracle:
		return 1
	case dialect.FamilySQLite:
		return engines[d.Family]
	default:
		return 2
	}
}

func calls(e engine) bool {
	return e.IsPostgres() || dialect.Oracle().SharesFamily(e.Dialect) || e.SharesFamily(e.Dialect)
}

var _ = []any{indexed, compares, switches, calls}
