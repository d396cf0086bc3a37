package faketds

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// The parts of the protocol for the columns of queries, and for bulk loads: [MS-TDS],
// sections 2.2.6.1 and 2.2.7.4, 2.2.7.18.

// Column is a column of a table, and how its type is written in the protocol.
type Column struct {
	name string
	kind byte
	info []byte // the bytes about the type, after the kind
}

// Types of columns.
const (
	tdsGUID     = 0x24
	tdsInt      = 0x26
	tdsDecimal  = 0x6a
	tdsVarBin   = 0xa5
	tdsVarChar  = 0xa7
	tdsBinary   = 0xad
	tdsChar     = 0xaf
	tdsNVarChar = 0xe7
	tdsNChar    = 0xef
)

// ColumnOf returns a column by its type in SQL.
func ColumnOf(name, kind string) Column {
	collation := []byte{9, 4, 0xd0, 0, 0x34}
	sized := func(n int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(n)) }
	switch kind {
	case "uniqueidentifier":
		return Column{name, tdsGUID, []byte{16}}
	case "bigint":
		return Column{name, tdsInt, []byte{8}}
	case "int":
		return Column{name, tdsInt, []byte{4}}
	case "decimal(20)":
		return Column{name, tdsDecimal, []byte{13, 20, 0}}
	case "decimal(20,2)":
		return Column{name, tdsDecimal, []byte{13, 20, 2}}
	case "binary(16)":
		return Column{name, tdsBinary, sized(16)}
	case "varbinary(16)":
		return Column{name, tdsVarBin, sized(16)}
	case "char(36)":
		return Column{name, tdsChar, slices.Concat(sized(36), collation)}
	case "varchar(40)":
		return Column{name, tdsVarChar, slices.Concat(sized(40), collation)}
	case "nchar(36)":
		return Column{name, tdsNChar, slices.Concat(sized(72), collation)}
	case "nvarchar(40)":
		return Column{name, tdsNVarChar, slices.Concat(sized(80), collation)}
	}
	panic("no column of type " + kind)
}

// answer returns the columns and rows that are sent before the end of the answer to a
// batch, for queries that ask for them.
func (s *Server) answer(batch string) []byte {
	switch {
	case strings.HasPrefix(strings.ToLower(batch), "select * from "):
		return tdsMetadata(s.Columns)
	case strings.HasPrefix(batch, "SELECT CAST('00112233-4455-6677-8899-aabbccddeeff' AS uniqueidentifier)"):
		guid := []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
		return slices.Concat(tdsMetadata([]Column{ColumnOf("", "uniqueidentifier")}), []byte{0xd1, 16}, guid)
	}
	return nil
}

// tdsMetadata returns the token that describes the columns of rows.
func tdsMetadata(columns []Column) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0x81}, uint16(len(columns)))
	for _, c := range columns {
		name := toUCS2(c.name)
		b = append(b, 0, 0, 0, 0, 9, 0, c.kind) // the first bytes are the flags: no user-defined type, may be NULL, may be written
		b = append(b, c.info...)
		b = append(b, byte(len(name)/2))
		b = append(b, name...)
	}
	return b
}

// Load is a bulk load as it came over the wire.
type Load struct {
	Columns []string
	Rows    [][]any // []byte for GUIDs and binary, string, int64, nil for NULL
}

// TakeLoads returns the bulk loads since it was called last.
func (s *Server) TakeLoads() []Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	loads := s.loads
	s.loads = nil
	return loads
}

// readLoad reads the message of a bulk load: columns, rows and the end.
func readLoad(message []byte) (load Load, err error) {
	r := tdsReader{message}
	if token := r.bytes(1)[0]; token != 0x81 {
		return load, fmt.Errorf("a bulk load begins with token %#x", token)
	}
	var kinds []byte
	for range r.uint16() {
		r.bytes(6) // skip the user-defined type and the flags
		kind := r.bytes(1)[0]
		switch kind {
		case tdsGUID, tdsInt:
			r.bytes(1)
		case tdsDecimal:
			r.bytes(3)
		case tdsVarBin, tdsBinary:
			r.bytes(2)
		case tdsVarChar, tdsChar, tdsNVarChar, tdsNChar:
			r.bytes(7)
		default:
			return load, fmt.Errorf("a column of type %#x", kind)
		}
		kinds = append(kinds, kind)
		load.Columns = append(load.Columns, fromUCS2(r.bytes(2*int(r.bytes(1)[0]))))
	}
	for {
		switch token := r.bytes(1)[0]; token {
		case 0xd1:
			row := make([]any, len(kinds))
			for i, kind := range kinds {
				row[i] = r.cell(kind)
			}
			load.Rows = append(load.Rows, row)
		case 0xfd:
			if len(r.b) != 12 {
				return load, fmt.Errorf("%d bytes behind the rows", len(r.b))
			}
			return load, nil
		default:
			return load, fmt.Errorf("token %#x among the rows", token)
		}
	}
}

// cell reads a value of a row.
func (r *tdsReader) cell(kind byte) any {
	n := 0
	switch kind {
	case tdsGUID, tdsInt, tdsDecimal:
		if n = int(r.bytes(1)[0]); n == 0 {
			return nil
		}
	default:
		if n = int(r.uint16()); n == 0xffff {
			return nil
		}
	}
	b := r.bytes(n)
	switch kind {
	case tdsInt:
		return int64(binary.LittleEndian.Uint64(append(slices.Clone(b), make([]byte, 8)...)))
	case tdsDecimal:
		// The value is one byte for the sign, followed by the digits.
		return int64(binary.LittleEndian.Uint64(append(slices.Clone(b[1:]), make([]byte, 8)...)))
	case tdsVarChar, tdsChar:
		return string(b)
	case tdsNVarChar, tdsNChar:
		return fromUCS2(b)
	}
	return b
}
