package rewrite

import "strings"

// mayChange reports whether a function is called here that may change
// something. The user's own functions may, in engines whose functions can
// write.
func (p *reader) mayChange() bool {
	if !p.d.Numbering.Writing || !p.nextIsPunct('(') {
		return false
	}
	if p.tok.kind == tokQuoted || p.prev > 0 && p.q[p.prev-1] == '.' {
		return true
	}
	name := p.text(p.tok)
	if notCalls.has(name) {
		return false
	}
	// With a space before the bracket some of the names mean stored functions:
	// MySQL 8.4, section 11.2.5.
	return !bracketWords.has(name) && !(builtins.has(name) && strings.HasPrefix(p.q[p.tok.end:], "("))
}

// notCalls are words that a bracket may follow in a query without being a
// call.
var notCalls = newWordSet(notCallList)

const notCallList = `select from where and or not in exists any all some as on using over values value by
	having when then else case between like ilike union except intersect distinct limit offset fetch interval
	join lateral partition order group with filter within row array cast materialized is escape only top percent
	table tables index key force use ignore rollup cube sets grouping returning set if`
