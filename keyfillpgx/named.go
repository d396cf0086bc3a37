package keyfillpgx

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// The filled text of a statement that was prepared by a name differs from the prepared
// text. In the modes exec and simple_protocol, pgx knows the types of parameters only for
// texts that it has prepared; in the others it would keep the filled text in its cache,
// which is not forgotten with the name. So the filled text is prepared as well, with itself
// as its name, and is deallocated together with the application's name.
//
// After a text such as DISCARD ALL pgx still takes its names for prepared, until they are
// deallocated. Where a name is prepared anew by the server, the texts that were filled for
// it before are deallocated and prepared again at their next use.

// maxFilledTexts is how many filled texts are prepared for one name. Usually a name has one
// filled text. It gets another one if the policy's mode changes, or if a filled text also
// checks which table a name means.
const maxFilledTexts = 8

// isTyped reports whether pgx describes the text of a call before it encodes arguments.
func (n *native) isTyped(k *call) bool {
	mode := n.mode
	for _, o := range k.options {
		if one, ok := o.(pgx.QueryExecMode); ok {
			mode = one
		}
	}
	return mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
}

// sent returns what to give to pgx for a call: the text, or the name of a prepared
// statement (see call.sent). It prepares the filled text if that is needed.
func (n *native) sent(ctx context.Context, k *call, query string) (string, error) {
	sent := k.sent(query)
	switch {
	case k.name == "", sent == k.name, len(k.args) == 0:
		return sent, nil
	case !k.once:
		return sent, n.prepareFilled(ctx, k.name, sent)
	case !n.isTyped(k):
		k.options = append(slices.Clip(k.options), pgx.QueryExecModeDescribeExec)
	}
	return sent, nil
}

// prepareFilled prepares the filled text of a name, unless it is prepared already, or the
// transaction has failed: a batch may begin with the ROLLBACK of the failed transaction, so
// that is no error.
func (n *native) prepareFilled(ctx context.Context, name, text string) error {
	has := slices.Contains(n.filled[name], text)
	if has && !n.doubted[text] || n.conn.PgConn().TxStatus() == 'E' {
		return nil
	}
	if !has && len(n.filled[name]) == maxFilledTexts {
		if err := n.deallocateFilled(ctx, name, n.filled[name][0]); err != nil {
			return err
		}
	}
	if has || n.isShared(name, text) {
		if err := n.conn.Deallocate(ctx, text); err != nil {
			return err
		}
	}
	if _, err := n.conn.Prepare(ctx, text, text); err != nil {
		return err
	}
	delete(n.doubted, text)
	if has {
		return nil
	}
	if n.filled == nil {
		n.filled = map[string][]string{}
	}
	n.filled[name] = append(n.filled[name], text)
	return nil
}

// doubtFilled notes that the server may have forgotten the filled texts of a name, which it
// has prepared anew.
func (n *native) doubtFilled(name string) {
	for _, text := range n.filled[name] {
		if n.doubted == nil {
			n.doubted = map[string]bool{}
		}
		n.doubted[text] = true
	}
}

// isShared reports whether a filled text belongs to another name.
func (n *native) isShared(name, text string) bool {
	for other, texts := range n.filled {
		if other != name && slices.Contains(texts, text) {
			return true
		}
	}
	return false
}

// deallocateFilled deallocates a filled text of a name, unless another name has the same
// text.
func (n *native) deallocateFilled(ctx context.Context, name, text string) error {
	if !n.isShared(name, text) {
		if err := n.conn.Deallocate(ctx, text); err != nil {
			return err
		}
		delete(n.doubted, text)
	}
	n.filled[name] = slices.DeleteFunc(n.filled[name], func(one string) bool { return one == text })
	return nil
}
