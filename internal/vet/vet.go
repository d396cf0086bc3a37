// Package vet predicts how keyfill treats the INSERTs in source: in Go packages and in
// files of SQL. The command "keyfill vet", package keyfillvet and "keyfill init --code" use
// it.
//
//	judge, err := vet.NewJudge(config)
//	findings := judge.Source(fset, source)
//
// Nothing is sent. The outcome of a text is the one that "keyfill explain" reports, for the
// newest version of the engine, or the given one, and as if the mode were fill.
//
// # Caveats
//
// An INSERT that an ORM makes is not in the source and is not found; of one that a query
// builder makes, only the table may be known. A text with parts that are known only when
// the program runs is dynamic, whatever these parts would be, unless its table is known and
// is not in the policy.
package vet

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/policy"
)

// Actions of an INSERT. "keyfill explain" reports the first four too.
const (
	Fill    = "fill"
	Keep    = "keep"
	Pass    = "pass"
	Refuse  = "refuse"
	Dynamic = "dynamic" // the text is put together when the program runs
)

// Actions are all actions, in the order in which summaries list them.
var Actions = []string{Fill, Keep, Pass, Refuse, Dynamic}

// Rule is a rule by which vet reports findings.
type Rule struct {
	Name string // the rule's name in comments and flags; in reports "keyfill/" precedes it
	Text string // the fault that the rule reports, in one sentence
	Off  bool   // whether the rule's findings are reported only on request
}

// The names of the rules.
const (
	//row:vetrules | [`keyfill/refused`](#refused) | an INSERT that cannot be filled
	RuleRefused = "refused"
	//row:vetrules | [`keyfill/lastinsertid`](#lastinsertid) | LastInsertId after an INSERT whose key it does not return
	RuleLastInsertID = "lastinsertid"
	//row:vetrules | [`keyfill/sessionreads`](#sessionreads) | lastval(), currval and their like where keyfill makes the number
	RuleSessionReads = "sessionreads"
	//row:vetrules | [`keyfill/wholeupdate`](#wholeupdate) | an update of a whole struct that stores an empty text or 0 over a number beside the key
	RuleWholeUpdate = "wholeupdate"
	//row:vetrules | [`keyfill/dynamic`](#dynamic) | a text that is put together when the program runs; reported only if asked for
	RuleDynamic = "dynamic"
	//row:vetrules | [`keyfill/ignore`](#ignore) | a comment of keyfill that turns off no finding
	RuleIgnore = "ignore"
)

// Rules are all rules.
var Rules = []Rule{
	{Name: RuleRefused, Text: "An INSERT into a table of the policy cannot be filled, so that it is an error when it is executed, or goes out without a key."},
	{Name: RuleLastInsertID, Text: "LastInsertId is read after an INSERT whose key is no integer, where it answers 0 or an error."},
	{Name: RuleSessionReads, Text: "A text asks the session for the last number of a sequence or identity, which does not know the integers that keyfill makes."},
	{Name: RuleWholeUpdate, Text: "An update of a whole struct by GORM, bun or xorm stores the struct's field over a number beside the key, also an empty one."},
	{Name: RuleDynamic, Text: "A text of SQL is put together when the program runs, so that nothing is known of its INSERT before.", Off: true},
	{Name: RuleIgnore, Text: "A comment keyfill:ignore turns off nothing, names no rule, or gives no reason."},
}

// RuleNames returns the names of all rules.
func RuleNames() []string {
	var names []string
	for _, r := range Rules {
		names = append(names, r.Name)
	}
	return names
}

// Prefix precedes the names of rules in reports.
const Prefix = "keyfill/"

// Judge finds out how keyfill treats texts under one policy. It is safe for concurrent use.
type Judge struct {
	explainer explain.Explainer
	dialect   *dialect.Dialect
	policy    *policy.Policy
}

var errNoDialect = anchor.New("policy", "keyfill: the policy names no dialect: say dialect: in it, or where the policy is named")

// Server is an engine, and the version of it for which a judge decides.
type Server struct {
	Dialect string // empty for the dialect of the policy
	Version [2]int // major and minor; two zeros for the newest version
}

var errServer = anchor.New("policy", "vet: a server is named by its engine and a version: write postgres@15, or mariadb@10.11")

// ParseServer reads an engine with a version, such as postgres@15. An empty text means the
// newest version of the policy's engine.
func ParseServer(text string) (Server, error) {
	if text == "" {
		return Server{}, nil
	}
	name, version, found := strings.Cut(text, "@")
	if _, err := dialect.ByName(name); err != nil {
		return Server{}, err
	}
	s := Server{Dialect: name}
	if !found {
		return s, nil
	}
	major, minor, both := strings.Cut(version, ".")
	var failed error
	if s.Version[0], failed = strconv.Atoi(major); failed == nil && both {
		s.Version[1], failed = strconv.Atoi(minor)
	}
	if failed != nil || s.Version[0] < 1 {
		return Server{}, anchor.End(errServer)
	}
	return s, nil
}

// NewJudge returns the judge of a policy, which must name its dialect. It opens no
// database, and decides for the newest version of the engine.
func NewJudge(c *policy.Config) (*Judge, error) { return NewJudgeOn(c, Server{}) }

// NewJudgeOn returns the judge of a policy for the engine and the version of s, as
// [NewJudge] does for the newest version. The dialect of s applies if the policy names
// none.
func NewJudgeOn(c *policy.Config, s Server) (*Judge, error) {
	c.Dialect = cmp.Or(c.Dialect, s.Dialect)
	if s.Dialect != "" && c.Dialect != s.Dialect {
		return nil, anchor.Lastf("policy", "keyfill: the policy is for %s, not for the server's %s: name the policy of that server", c.Dialect, s.Dialect)
	}
	if c.Dialect == "" {
		return nil, anchor.End(errNoDialect)
	}
	d, err := dialect.ByName(c.Dialect)
	if err != nil {
		return nil, err
	}
	compiled, err := c.Compile(d)
	if err != nil {
		return nil, err
	}
	connector, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: c})
	if err != nil {
		return nil, err
	}
	return &Judge{explainer: explain.ByVersion(connector, s.Version), dialect: d, policy: compiled}, nil
}

// With returns a judge that uses another explainer for texts that are known as a whole,
// such as an explainer with a database of the judge's dialect.
func (j *Judge) With(x explain.Explainer) *Judge {
	other := *j
	other.explainer = x
	return &other
}
