package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// The kinds of values.
const (
	Null   byte = 'n'
	True   byte = 't'
	False  byte = 'f'
	Int    byte = 'i'
	Float  byte = 'd'
	String byte = 's'
	List   byte = 'l'
	Object byte = 'o'
	JSON   byte = 'j' // followed by the text
)

// MaxNesting limits the nesting of values.
const MaxNesting = 512

// errNesting is the error of a value that nests too deeply.
var errNesting = fmt.Errorf("a value nests deeper than %d", MaxNesting)

// AppendUint appends an unsigned number as a varint.
func AppendUint(buf []byte, n uint64) []byte { return binary.AppendUvarint(buf, n) }

// AppendInt appends a signed number as a varint.
func AppendInt(buf []byte, n int64) []byte { return binary.AppendVarint(buf, n) }

// AppendText appends a text preceded by its length.
func AppendText[T ~string | ~[]byte](buf []byte, text T) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(text))), text...)
}

// AppendBool appends a boolean.
func AppendBool(buf []byte, value bool) []byte {
	if value {
		return append(buf, 1)
	}
	return append(buf, 0)
}

// AppendValue appends a JSON value: an integer, or one of the types that encoding/json decodes into any. A value of
// another type is encoded by encoding/json. Members of objects are sorted by name.
func AppendValue(buf []byte, value any) ([]byte, error) { return appendValue(buf, value, 0) }

// appendValue appends a value. depth is the number of values that contain this value. Values of types without an
// encoding are appended as JSON.
func appendValue(buf []byte, value any, depth int) (_ []byte, err error) {
	if depth > MaxNesting {
		return buf, errNesting
	}
	switch v := value.(type) {
	case nil:
		return append(buf, Null), nil
	case bool:
		if v {
			return append(buf, True), nil
		}
		return append(buf, False), nil
	case int:
		return AppendInt(append(buf, Int), int64(v)), nil
	case int64:
		return AppendInt(append(buf, Int), v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(buf, Float), math.Float64bits(v)), nil
	case string:
		return AppendText(append(buf, String), v), nil
	case []any:
		return appendList(buf, v, depth)
	case []map[string]any:
		return appendList(buf, v, depth)
	case []string:
		buf = AppendUint(append(buf, List), uint64(len(v)))
		for i := range v {
			buf = AppendText(append(buf, String), v[i])
		}
		return buf, nil
	case map[string]any:
		if v == nil {
			return append(buf, Null), nil
		}
		buf = AppendUint(append(buf, Object), uint64(len(v)))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if buf, err = appendValue(AppendText(buf, name), v[name], depth+1); err != nil {
				return buf, err
			}
		}
		return buf, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return AppendInt(append(buf, Int), n), nil
		}
		n, _ := v.Float64()
		return appendValue(buf, n, depth)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return buf, fmt.Errorf("encoding a value for a script: %w", err)
	}
	return AppendText(append(buf, JSON), text), nil
}

// appendList appends a list that is nested in depth other values.
func appendList[T any](buf []byte, list []T, depth int) (_ []byte, err error) {
	buf = AppendUint(append(buf, List), uint64(len(list)))
	for i := range list {
		if buf, err = appendValue(buf, list[i], depth+1); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// Reader decodes a payload. Reading beyond the end returns zero values and sets the error that Err returns.
type Reader struct {
	rest []byte // the unread bytes
	err  error
}

// NewReader returns a Reader of a payload.
func NewReader(payload []byte) *Reader { return &Reader{rest: payload} }

// Err returns the first error of the calls so far, or nil.
func (r *Reader) Err() error { return r.err }

// More reports whether there are unread bytes.
func (r *Reader) More() bool { return len(r.rest) > 0 }

// Rest returns the unread bytes.
func (r *Reader) Rest() []byte { return r.rest }

// fail records that the payload is too short, and discards the unread bytes.
func (r *Reader) fail() {
	r.rest = nil
	if r.err == nil {
		r.err = errShort
	}
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// Bool reads a boolean.
func (r *Reader) Bool() bool { return r.Byte() == 1 }

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Int reads a signed number.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Float reads a floating-point number of eight bytes.
func (r *Reader) Float() float64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	n := math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	return n
}

// Bytes reads a text. The result is a part of the payload.
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// Text reads a text.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Len reads the number of the following items. Each item takes at least one byte, so a number greater than the number
// of unread bytes is an error.
func (r *Reader) Len() int {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n) //nolint:gosec // G115: bounded above
}
