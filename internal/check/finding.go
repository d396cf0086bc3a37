package check

import (
	"cmp"
	"slices"
)

// The severities of a finding.
const (
	Error   = "error"   // an INSERT will fail, or a key may come out wrong or twice
	Warning = "warning" // an INSERT works, and something will hurt one day
	Info    = "info"    // something that is good to know
)

// The rules. docs/check.md has the cause and the cure of each.
const (
	ruleBoundTwice      = "bound-twice"
	ruleCase            = "table-case"
	ruleClock           = "clock"
	ruleCollation       = "collation"
	ruleCOMB            = "comb"
	ruleDefaultFills    = "default-fills"
	RuleDialect         = "dialect"
	ruleEngineFills     = "engine-fills"
	ruleForeignKey      = "foreign-key"
	ruleGalera          = "galera"
	ruleGenerated       = "generated"
	ruleHandback        = "handback"
	ruleIdentityAlways  = "identity-always"
	ruleKeyTable        = "key-table"
	ruleLease           = "lease"
	ruleNarrow          = "narrow"
	ruleNoColumn        = "no-column"
	ruleNoRule          = "no-rule"
	ruleNoTable         = "no-table"
	ruleNotLooked       = "not-looked"
	ruleNotUnique       = "not-unique"
	ruleNullable        = "nullable"
	ruleProxy           = "proxy"
	ruleReadOnly        = "read-only"
	ruleRights          = "rights"
	ruleRunsOut         = "runs-out"
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
	ruleWorker          = "worker"
)

// Rules returns the names of all rules, in order.
func Rules() []string {
	return []string{
		ruleBoundTwice, ruleClock, ruleCollation, ruleCOMB, ruleDefaultFills, RuleDialect, ruleEngineFills, ruleForeignKey,
		ruleGalera, ruleGenerated, ruleHandback, ruleIdentityAlways, ruleKeyTable, ruleLease, ruleNarrow, ruleNoColumn, ruleNoRule,
		ruleNoTable, ruleNotLooked, ruleNotUnique, ruleNullable, ruleProxy, ruleReadOnly, ruleRights, ruleRunsOut,
		ruleSecondName, ruleSequence, ruleSessionRead, ruleState, ruleStateBehind, ruleStateMissing, ruleStateParameters, ruleStateTables,
		ruleStore, ruleCase, ruleTriggerFills, ruleTwoWay, ruleType, ruleWorker,
	}
}

// Finding is what a rule has found.
type Finding struct {
	Severity string
	Rule     string
	Table    string // as found, else as the policy has it; "" where none is concerned
	Column   string // "" where none is concerned
	Line     int    // of the policy's file, from 1; 0 where it is not known, or no line is concerned
	Message  string
	Remedy   string // statements that end in a semicolon, or what to change in the policy
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
