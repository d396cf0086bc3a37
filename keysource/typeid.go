package keysource

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/typeid"
)

// TypeID makes the UUIDs of a [UUIDv7] as TypeIDs (version 0.3.0,
// https://github.com/jetify-com/typeid/tree/main/spec): text with a prefix that names the
// type of what the key identifies.
//
//	cus_01h455vb4pex5vsknk084sn02q
//	|-| |------------------------|
//	prefix    26 characters of base 32, in lower case
//
// Keys of one prefix sort as their UUIDs do.
type TypeID struct {
	uuids  *UUIDv7
	prefix string
}

// NewTypeID returns a source of TypeIDs. The error is [ErrPrefix] for an empty prefix, and
// for one that TypeIDs cannot have: it needs letters from a to z, 63 at most, with
// underscores in between only.
func NewTypeID(env Env, prefix string) (*TypeID, error) {
	if prefix == "" || typeid.CheckPrefix(prefix) != nil {
		return nil, ErrPrefix
	}
	return &TypeID{NewUUIDv7(env), prefix}, nil
}

// Next returns r.N keys in ascending order: TypeIDs for [dialect.SequentialAsString], and
// the UUIDs alone for other layouts. It returns the errors of [UUIDv7.Next].
func (s *TypeID) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	return fresh(ctx, s, r)
}

// Append is like Next, but appends the keys to room; see [Source].
func (s *TypeID) Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error) {
	switch {
	case r.Layout != dialect.SequentialAsString:
		return s.uuids.Append(ctx, room, r)
	case r.N == 1 && s.uuids.rand.r == nil:
		return s.appendOne(ctx, room)
	}
	keys, err := s.uuids.Append16(ctx, nil, r)
	if err != nil {
		return room, err
	}
	room = boxing.Grow(room, r.N)
	for some := range slices.Chunk(keys, boxing.Chunk) {
		room = s.appendTexts(room, some)
	}
	return room, nil
}

// Key16 returns one key as 16 bytes, without the prefix; see [Source16].
func (s *TypeID) Key16(ctx context.Context, l dialect.Layout) ([16]byte, error) {
	return s.uuids.Key16(ctx, l)
}

// Append16 is like Key16 for several keys.
func (s *TypeID) Append16(ctx context.Context, room [][16]byte, r Request) ([][16]byte, error) {
	return s.uuids.Append16(ctx, room, r)
}

// appendOne appends one key, as [UUIDv7.appendOneText] does.
func (s *TypeID) appendOne(ctx context.Context, room []driver.Value) ([]driver.Value, error) {
	tick, now, err := s.uuids.reserve(ctx, 1)
	if err != nil {
		return room, err
	}
	w := s.uuids.ahead.get(now)
	var key [16]byte
	layUUIDv7(&key, tick, w.next())
	var characters [typeid.MaxSize]byte
	text := w.texts.next(typeid.Append(characters[:0], s.prefix, key))
	s.uuids.ahead.put(w)
	return append(room, text), nil
}

// appendTexts appends at most chunk keys, whose texts are parts of one string, as in
// [appendText].
func (s *TypeID) appendTexts(room []driver.Value, keys [][16]byte) []driver.Value {
	var characters [boxing.Chunk * typeid.MaxSize]byte
	b := characters[:0]
	for _, key := range keys {
		b = typeid.Append(b, s.prefix, key)
	}
	shared, size := string(b), len(b)/len(keys)
	var values [boxing.Chunk]string
	for i := range keys {
		values[i] = shared[i*size : (i+1)*size]
	}
	return boxing.Append(room, &values, len(keys))
}

// Traits returns that keys are ordered, and text of their own alphabet.
func (s *TypeID) Traits() Traits { return Traits{Ordered: true, Text: true} }

// RowPrefix implements [RowSource]. Hexadecimal digits are digits of TypeIDs too, so that
// the engine can count with them. The key of a row has the version, the variant and the
// time of the statement.
func (s *TypeID) RowPrefix(ctx context.Context, l dialect.Layout) (prefix string, before int64, err error) {
	if l != dialect.SequentialAsString {
		return s.uuids.RowPrefix(ctx, l)
	}
	key, err := s.uuids.Key16(ctx, l)
	if err != nil {
		return "", 0, err
	}
	_, before = rowPrefix(key, l)
	text := string(typeid.Append(nil, s.prefix, key))
	return text[:len(text)-tailDigits], before, nil
}
