package dialect

import "strings"

// Product holds the facts about a database that speaks the protocol of a [Family] and is
// another program: CockroachDB and PostgreSQL are of one family. Code that fills INSERTs
// does not ask for it; "keyfill check" and "keyfill init" give its advice.
//
// None of these databases has run keyfill's tests. Each fact names the page of a manual, or
// the issue, that it was read in, and Product.Run is false.
type Product struct {
	Name   string // its name, such as "cockroachdb"
	Title  string // its name in messages
	Family Family

	// Signs are the questions by which it is known. One that holds suffices.
	Signs []Sign

	// Advice has one entry for each [Use], in their order.
	Advice [Uses]Advice

	// Run reports whether keyfill's tests have run on it.
	Run bool
}

// Sign is a question by which a [Product] is known.
type Sign struct {
	// Query is sent outside of transactions. A server that does not know what it names
	// answers with an error, or with no row.
	Query string

	// Holds is a part of the first value of the answer's first row, without regard to case.
	Holds string

	From string // where the answer is known from
}

// Found reports whether the first value of an answer is the sign's.
func (s *Sign) Found(answer string) bool {
	return strings.Contains(strings.ToLower(answer), strings.ToLower(s.Holds))
}

// Advice says how a [Use] gets on with a [Product].
type Advice struct {
	Fit  Fit
	Why  string // the reason, as a clause; empty if the fit is Unknown
	Cure string // what to take or to do instead; empty if the use fits, or if it is unknown
	From string // where the reason is known from: a manual's page, or an issue
}

// Fit is how well a source suits a [Product].
type Fit uint8

// How well a source suits a product.
const (
	FitUnknown Fit = iota // nothing was found in the manual
	FitYes                // the source suits
	FitHot                // keys are right, and all INSERTs go to one place
	FitCare               // the source suits if the advice is followed
	FitNo                 // the source does not work, or loses its promise
)

// String returns the word for a fit in docs/distributed.md.
func (f Fit) String() string { return [...]string{"not known", "yes", "hot", "with care", "no"}[f] }

// Use is a group of sources for which the advice about a [Product] is the same.
type Use uint8

// The uses.
const (
	UseRandom    Use = iota // random keys
	UseTime                 // keys that rise with the time, made without a state
	UseScattered            // integers of a state, permuted
	UseRising               // integers that rise, of a state or of the time
	UseJoined               // integers drawn in the transaction of the INSERT
	UseGreatest             // the greatest key of the column, plus one
	UseNative               // integers of a sequence of the engine
	UseIdentity             // keys that the engine makes

	Uses // the number of uses
)

// kindsOf holds the kinds of the policy for each use.
var kindsOf = [Uses][]string{
	UseRandom:    {"uuidv4"},
	UseTime:      {"uuidv7", "ulid", "comb"},
	UseScattered: {"scatter", "coprime", "pseudorandom"},
	UseRising:    {"sequence", "snowflake", "composite", "recycled"},
	UseJoined:    nil,
	UseGreatest:  {"maxplusone"},
	UseNative:    {"native"},
	UseIdentity:  {"identity"},
}

// Kinds returns the kinds of source in the policy that a use stands for; nil for
// [UseJoined], which is about any kind with "transaction: joined" or "scope:".
func (u Use) Kinds() []string { return kindsOf[u] }

// UseOf returns the use of a kind of source. Joined reports whether its keys belong to the
// transaction of their INSERT.
func UseOf(kind string, joined bool) (Use, bool) {
	for u, kinds := range kindsOf {
		for _, one := range kinds {
			switch {
			case one != kind:
			case joined && Use(u) != UseGreatest:
				return UseJoined, true
			default:
				return Use(u), true
			}
		}
	}
	return 0, false
}

// ProductByName returns the product with this name, nil if there is none.
func ProductByName(name string) *Product {
	for _, p := range Products() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Products returns all products, each family's in the order in which they are asked for.
func Products() []*Product {
	return []*Product{&cockroachDB, &yugabyteDB, &auroraDSQL, &spanner, &citus, &auroraPostgreSQL, &tiDB, &vitess, &auroraMySQL}
}

// Speaks reports whether the product speaks a dialect.
func (p *Product) Speaks(d *Dialect) bool { return p.Family == d.Family }

// ProductOf returns the product that answers a family's questions as ask does, each asked
// once. It returns nil if that is the family's own engine, or is not known, and the first
// error of ask.
func ProductOf(f Family, ask func(query string) (string, error)) (*Product, error) {
	answers := map[string]string{}
	for _, p := range Products() {
		if p.Family != f {
			continue
		}
		for _, sign := range p.Signs {
			answer, asked := answers[sign.Query]
			if !asked {
				var err error
				if answer, err = ask(sign.Query); err != nil {
					return nil, err
				}
				answers[sign.Query] = answer
			}
			if sign.Found(answer) {
				return p, nil
			}
		}
	}
	return nil, nil
}
