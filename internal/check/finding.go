package check

import (
	"cmp"
	"slices"
)

// The severities of a finding.
const (
	Error   = "error"   // an INSERT will fail, or a key may come out wrong or twice
	Warning = "warning" // an INSERT works, but it will cause trouble some day
	Info    = "info"    // nothing is wrong, but it is good to know
)

// The classes of a finding: what happens to the first INSERT that keyfill has to fill. A
// class describes what happens with mode: fill, even if the policy sets another mode.
const (
	FirstInsert = "first-insert" // the first INSERT fails
	SomeInserts = "some-inserts" // the first INSERT works; INSERTs fail at times, or store a wrong key, the same key twice, or none
	Later       = "later"        // the first INSERT works, but there will be trouble some day
	Unknown     = "unknown"      // the effect is not known
	Note        = "note"         // the first INSERT works
)

// someInserts are the rules whose errors let the first INSERT work, or are about statements
// that keyfill does not fill.
var someInserts = []string{ruleCase, ruleHandback, ruleLock, ruleNoTable, ruleProxy, ruleTriggerFills}

// classOf returns the class of a finding whose field Class is empty.
func classOf(f Finding) string {
	switch {
	case f.Rule == ruleNotLooked || f.Rule == ruleWorker:
		return Unknown
	case f.Severity == Info:
		return Note
	case f.Rule == ruleForeignKey: // the finding concerns INSERTs into another table, which refers to the keys
		return Later
	case f.Severity == Error && !slices.Contains(someInserts, f.Rule):
		return FirstInsert
	case f.Severity == Error, f.Rule == ruleNotUnique, f.Rule == ruleNullable, f.Rule == ruleNoRule, f.Rule == ruleNoTable,
		f.Rule == ruleSessionRead, f.Rule == ruleStateBehind, f.Rule == ruleTwoWay:
		return SomeInserts
	}
	return Later
}

// The names of the rules. docs/check.md has the cause of each, and the remedy.
const (
	ruleBoundTwice      = "bound-twice"
	ruleCase            = "table-case"
	ruleClock           = "clock"
	ruleCollation       = "collation"
	ruleCOMB            = "comb"
	ruleDefaultFills    = "default-fills"
	RuleDialect         = "dialect"
	ruleEngine          = "engine"
	ruleEngineFills     = "engine-fills"
	ruleConnectionLimit = "connection-limit"
	ruleForeignKey      = "foreign-key"
	ruleGalera          = "galera"
	ruleGenerated       = "generated"
	ruleHandback        = "handback"
	ruleHotState        = "hot-state"
	ruleIdentityAlways  = "identity-always"
	ruleKeyTable        = "key-table"
	ruleLease           = "lease"
	ruleLock            = "lock"
	ruleNarrow          = "narrow"
	ruleNoColumn        = "no-column"
	ruleNoDefault       = "no-default"
	ruleNoRule          = "no-rule"
	ruleNoTable         = "no-table"
	ruleNotLooked       = "not-looked"
	ruleNotUnique       = "not-unique"
	ruleNullable        = "nullable"
	ruleProxy           = "proxy"
	ruleReadOnly        = "read-only"
	ruleRights          = "rights"
	ruleRunsOut         = "runs-out"
	ruleScope           = "scope"
	ruleSecondName      = "second-name"
	ruleSequence        = "sequence"
	ruleSessionRead     = "session-read"
	ruleState           = "state"
	ruleStateBehind     = "state-behind"
	ruleStateMissing    = "state-missing"
	ruleStateParameters = "state-parameters"
	ruleStateTables     = "state-tables"
	ruleStore           = "store"
	ruleTriggerFills    = "trigger-fills"
	ruleTwoWay          = "two-way"
	ruleType            = "type"
	ruleUnordered       = "unordered"
	ruleWorker          = "worker"
)

// Rules returns the names of all rules, in order.
func Rules() []string {
	return []string{
		ruleBoundTwice, ruleClock, ruleCollation, ruleCOMB, ruleConnectionLimit, ruleDefaultFills, RuleDialect, ruleEngine, ruleEngineFills, ruleForeignKey,
		ruleGalera, ruleGenerated, ruleHandback, ruleHotState, ruleIdentityAlways, ruleKeyTable, ruleLease, ruleLock, ruleNarrow, ruleNoColumn, ruleNoDefault, ruleNoRule,
		ruleNoTable, ruleNotLooked, ruleNotUnique, ruleNullable, ruleProxy, ruleReadOnly, ruleRights, ruleRunsOut,
		ruleScope, ruleSecondName, ruleSequence, ruleSessionRead, ruleState, ruleStateBehind, ruleStateMissing, ruleStateParameters, ruleStateTables,
		ruleStore, ruleCase, ruleTriggerFills, ruleTwoWay, ruleType, ruleUnordered, ruleWorker,
	}
}

// Finding is the result of a rule.
type Finding struct {
	Severity string
	Rule     string
	Table    string // the name in the database, or else in the policy; empty if no table is concerned
	Column   string // empty if no column is concerned
	Line     int    // the line in the policy's file, from 1; 0 if it is not known, or no line is concerned
	Message  string
	Remedy   string // statements that end in a semicolon, or what to change in the policy
	Class    string // the constant FirstInsert, SomeInserts, Later, Unknown or Note
}

// rank orders the severities.
var rank = map[string]int{Error: 0, Warning: 1, Info: 2}

// sorted returns findings without repetitions: errors first, then by line, table,
// column and rule.
func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}
