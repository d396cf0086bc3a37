package faketds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	mssql "github.com/microsoft/go-mssqldb"
)

// Server speaks as much of SQL Server's protocol as go-mssqldb needs to log
// in and to execute: every statement is noted and answered as having inserted
// some rows. [MS-TDS], Tabular Data Stream Protocol:
// https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/
type Server struct {
	Listener net.Listener
	rows     uint64 // the rows that each statement claims to have inserted

	Columns []Column // the columns of every table

	// session, if it is not nil, makes the answers to the statements of a connection; rows
	// and Columns are not used then.
	session func() Session

	mu    sync.Mutex
	calls []Call
	loads []Load
	err   error
}

// Session answers for one connection.
type Session interface {
	reset()                         // called for sp_reset_connection, before a request
	statement(call Call) []byte     // answers a statement: returns the tokens of the answer
	transaction(kind uint16) []byte // returns the tokens of the answer to a request to the transaction manager
}

// Call is a statement as it came over the wire.
type Call struct {
	Batch  string  // the text of a SQL batch, which is sent without parameters
	Query  string  // the text of a call of sp_executesql
	Types  string  // the declaration of the call's parameters
	Params []Param // the parameters after Query and Types
}

// Param is a parameter of a call.
type Param struct {
	Name  string
	Value any // a string for nvarchar, []byte for varbinary, int64 for integers, nil for NULL
}

// NewServer starts a server that ends with the test.
func NewServer(t *testing.T) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Listener: l, rows: 1}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				if err := s.serve(conn); !errors.Is(err, io.EOF) {
					s.mu.Lock()
					s.err = err
					s.mu.Unlock()
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
		if s.err != nil {
			t.Errorf("the server: %v", s.err)
		}
	})
	return s
}

// Take returns the statements that arrived since the last call of Take.
func (s *Server) Take() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Types of messages.
const (
	tdsBatch     = 0x01
	tdsRPC       = 0x03
	tdsReply     = 0x04
	tdsAttention = 0x06
	tdsBulkLoad  = 0x07
	tdsManager   = 0x0e
	tdsLogin7    = 0x10
	tdsPrelogin  = 0x12
)

// Connects sets the function that returns the session of each later connection.
func (s *Server) Connects(session func() Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
}

// serve answers the messages of one connection. Its error is io.EOF when the client is gone.
func (s *Server) serve(conn net.Conn) error {
	var session Session
	s.mu.Lock()
	connect := s.session
	s.mu.Unlock()
	if connect != nil {
		session = connect()
	}
	for {
		kind, status, message, err := readTDS(conn)
		if err != nil {
			return err
		}
		if session != nil && status&tdsResets != 0 {
			session.reset()
		}
		var reply []byte
		switch kind {
		case tdsPrelogin:
			// The option version is at 16 and has 6 bytes, the option encryption is at 22
			// and says "not supported"; 0xff ends the list.
			reply = []byte{0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 0xff, 0, 0, 0, 0, 0, 12, 0, 7, 0xd0, 0, 0, 2}
		case tdsLogin7:
			// This is the token LOGINACK: the interface SQL, TDS 7.4, the name of the
			// server and its version.
			name := toUCS2("Microsoft SQL Server")
			ack := append([]byte{1, 0x74, 0, 0, 4, byte(len(name) / 2)}, name...)
			ack = append(ack, 12, 0, 7, 0xd0)
			reply = append(binary.LittleEndian.AppendUint16([]byte{0xad}, uint16(len(ack))), ack...)
			reply = append(reply, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		case tdsBatch, tdsRPC:
			call, err := readCall(kind, message)
			if err != nil {
				return err
			}
			s.mu.Lock()
			s.calls = append(s.calls, call)
			s.mu.Unlock()
			if session != nil {
				reply = session.statement(call)
				break
			}
			reply = append(s.answer(call.Batch), tdsDone(s.rows)...)
		case tdsManager:
			if session == nil {
				return errors.New("a request to the transaction manager")
			}
			r := tdsReader{message}
			r.bytes(int(r.uint32()) - 4) // ALL_HEADERS
			reply = session.transaction(r.uint16())
		case tdsAttention:
			// The driver may send an attention (a request to cancel) when it closes rows.
			// The answer is the token DONE_ATTN.
			reply = []byte{0xfd, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		case tdsBulkLoad:
			load, err := readLoad(message)
			if err != nil {
				return err
			}
			s.mu.Lock()
			s.loads = append(s.loads, load)
			s.mu.Unlock()
			reply = tdsDone(uint64(len(load.Rows)))
		default:
			return fmt.Errorf("a message of type %#x", kind)
		}
		head := []byte{tdsReply, 1, 0, 0, 0, 0, 1, 0}
		binary.BigEndian.PutUint16(head[2:], uint16(len(head)+len(reply)))
		if _, err := conn.Write(append(head, reply...)); err != nil {
			return err
		}
	}
}

// tdsDone returns the end of an answer, with a count of rows.
func tdsDone(rows uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0xfd, 0x10, 0, 0xc3, 0}, rows)
}

// tdsResets is the bit of a packet's status that asks to reset the session before the
// request: RESETCONNECTION in [MS-TDS], section 2.2.3.1.2.
const tdsResets = 0x08

// readTDS reads the packets of one message. The status has the bits that any of the packets
// has.
func readTDS(r io.Reader) (kind, status byte, message []byte, err error) {
	for {
		head := make([]byte, 8)
		if _, err := io.ReadFull(r, head); err != nil {
			return 0, 0, nil, err
		}
		body := make([]byte, int(binary.BigEndian.Uint16(head[2:]))-len(head))
		if _, err := io.ReadFull(r, body); err != nil {
			return 0, 0, nil, err
		}
		message = append(message, body...)
		status |= head[1]
		if head[1]&1 == 1 { // this bit marks the last packet of a message
			return head[0], status, message, nil
		}
	}
}

// readCall reads a batch or a call of sp_executesql.
func readCall(kind byte, message []byte) (call Call, err error) {
	r := tdsReader{message}
	r.bytes(int(r.uint32()) - 4) // ALL_HEADERS
	if kind == tdsBatch {
		return Call{Batch: fromUCS2(r.b)}, nil
	}
	const spExecuteSQL = 10
	if r.uint16() != 0xffff || r.uint16() != spExecuteSQL {
		return call, errors.New("not a call of sp_executesql")
	}
	r.uint16() // options
	var params []Param
	for len(r.b) > 0 {
		p := Param{Name: fromUCS2(r.bytes(2 * int(r.bytes(1)[0])))}
		r.bytes(1) // status
		if p.Value, err = r.value(); err != nil {
			return call, err
		}
		params = append(params, p)
	}
	call.Query, call.Types = params[0].Value.(string), params[1].Value.(string)
	call.Params = params[2:]
	return call, nil
}

// tdsReader reads a message.
type tdsReader struct{ b []byte }

func (r *tdsReader) bytes(n int) []byte {
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *tdsReader) uint16() uint16 { return binary.LittleEndian.Uint16(r.bytes(2)) }

func (r *tdsReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }

// value reads a type and a value of it.
func (r *tdsReader) value() (any, error) {
	switch kind := r.bytes(1)[0]; kind {
	case 0xe7, 0xa7, 0xa5: // NVARCHAR, VARCHAR and VARBINARY
		size := r.uint16()
		if kind != 0xa5 {
			r.bytes(5) // collation
		}
		var b []byte
		if size == 0xffff { // in chunks
			r.bytes(8)
			for n := r.uint32(); n > 0; n = r.uint32() {
				b = append(b, r.bytes(int(n))...)
			}
		} else if n := r.uint16(); n == 0xffff {
			return nil, nil
		} else {
			b = r.bytes(int(n))
		}
		switch kind {
		case 0xe7:
			return fromUCS2(b), nil
		case 0xa7:
			return string(b), nil
		}
		return b, nil
	case 0x26: // INTN
		r.bytes(1)
		switch n := int(r.bytes(1)[0]); n {
		case 0:
			return nil, nil
		case 8:
			return int64(binary.LittleEndian.Uint64(r.bytes(8))), nil
		default:
			return nil, fmt.Errorf("an integer of %d bytes", n)
		}
	case 0x24: // GUID
		r.bytes(1)
		b := r.bytes(int(r.bytes(1)[0]))
		if len(b) == 0 {
			return nil, nil
		}
		var u mssql.UniqueIdentifier
		err := u.Scan(b)
		return strings.ToLower(u.String()), err
	case 0x1f: // the type of a NULL without a type
		return nil, nil
	case 0x2b: // DATETIMEOFFSETN
		r.bytes(1) // scale
		return r.bytes(int(r.bytes(1)[0])), nil
	default:
		return nil, fmt.Errorf("a value of type %#x", kind)
	}
}

func fromUCS2(b []byte) string {
	var units []uint16
	for ; len(b) > 1; b = b[2:] {
		units = append(units, binary.LittleEndian.Uint16(b))
	}
	return string(utf16.Decode(units))
}

func toUCS2(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
