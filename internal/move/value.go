package move

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
	"unicode/utf8"
)

// kind is the type of a column's values in this package, which is the same for both engines. A value is nil or of the
// Go type in the comment.
type kind int

const (
	kindInt    kind = iota // int64
	kindInt4               // int64 with 32 bits
	kindInt2               // int64 with 16 bits
	kindBool               // bool
	kindFloat              // float64
	kindText               // string
	kindBytes              // []byte
	kindMoment             // time.Time in UTC, in microseconds
)

// kinds maps the types of PostgreSQL to kinds. It does not have types whose values would not come back unchanged, such
// as jsonb, which reformats its text.
var kinds = map[string]kind{
	"int8": kindInt, "int4": kindInt4, "int2": kindInt2, "bool": kindBool, "float8": kindFloat,
	"text": kindText, "varchar": kindText, "json": kindText, "bytea": kindBytes,
	"timestamptz": kindMoment, "timestamp": kindMoment,
}

func kindOf(typ string) (kind, error) {
	k, ok := kinds[typ]
	if !ok {
		return 0, fmt.Errorf("has the type %s, which cannot be moved", typ)
	}
	return k, nil
}

// moments are the formats in which SQLite may hold times as text. New values are written in the first format.
var moments = []string{"2006-01-02 15:04:05.999999-07:00", time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02"}

// value converts a value from a driver to the Go type of the kind.
func (k kind) value(read any) (any, error) {
	if read == nil {
		return nil, nil
	}
	switch k {
	case kindInt, kindInt4, kindInt2:
		return k.number(read)
	case kindBool:
		switch v := read.(type) {
		case bool:
			return v, nil
		case int64:
			if v == 0 || v == 1 {
				return v == 1, nil
			}
		}
	case kindFloat:
		switch v := read.(type) {
		case float64:
			return v, nil
		case int64:
			if f := float64(v); int64(f) == v {
				return f, nil
			}
		}
	case kindText:
		switch v := read.(type) {
		case string:
			return checked(v)
		case []byte:
			return checked(string(v))
		}
	case kindBytes:
		switch v := read.(type) {
		case []byte:
			return append([]byte{}, v...), nil // an empty slice instead of nil, which drivers write as NULL
		case string:
			return []byte(v), nil
		}
	case kindMoment:
		switch v := read.(type) {
		case time.Time:
			return v.UTC().Truncate(time.Microsecond), nil
		case string:
			for _, form := range moments {
				if t, err := time.Parse(form, v); err == nil {
					return t.UTC().Truncate(time.Microsecond), nil
				}
			}
		}
	}
	return nil, fmt.Errorf("holds a value of another type (%T), which cannot be moved", read)
}

func (k kind) number(read any) (any, error) {
	v, ok := read.(int64)
	if b, is := read.(bool); is {
		ok = true
		if b {
			v = 1
		}
	}
	if !ok {
		return nil, fmt.Errorf("holds a value of another type (%T), which cannot be moved", read)
	}
	if k == kindInt4 && int64(int32(v)) != v || k == kindInt2 && int64(int16(v)) != v {
		return nil, fmt.Errorf("holds %d, for which the type of the other engine is too small", v)
	}
	return v, nil
}

// checked returns a text unchanged, or an error if PostgreSQL cannot store it.
func checked(v string) (any, error) {
	if !utf8.ValidString(v) {
		return nil, errors.New("holds text that is not UTF-8, which PostgreSQL does not keep: correct it in the source")
	}
	if strings.IndexByte(v, 0) >= 0 {
		return nil, errors.New("holds text with a zero byte, which PostgreSQL does not keep: correct it in the source")
	}
	return v, nil
}

// forSQLite converts a value to the form in which SQLite stores it.
func forSQLite(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.Format(moments[0])
	}
	return v
}

// appendValue appends an encoding of a value. Different values have different encodings.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case int64:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v)) //nolint:gosec // the bits
	case bool:
		if v {
			return append(b, 't')
		}
		return append(b, 'f')
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'd'), math.Float64bits(v))
	case string:
		return append(binary.AppendUvarint(append(b, 's'), uint64(len(v))), v...)
	case []byte:
		return append(binary.AppendUvarint(append(b, 'b'), uint64(len(v))), v...)
	case time.Time:
		return binary.BigEndian.AppendUint64(append(b, 'm'), uint64(v.UnixMicro()))
	}
	panic(fmt.Sprintf("a value of the type %T", v)) // kind.value returns no other type
}

// sum is a digest of rows that does not depend on their order: the sum of their SHA-256 hashes as numbers, modulo
// 2^256. It is needed because each engine returns the rows in a different order.
type sum struct {
	rows int64
	acc  [4]uint64
	buf  []byte
}

func (s *sum) add(row []any) {
	s.buf = s.buf[:0]
	for _, v := range row {
		s.buf = appendValue(s.buf, v)
	}
	h := sha256.Sum256(s.buf)
	var carry uint64
	for i := range s.acc {
		s.acc[i], carry = bits.Add64(s.acc[i], binary.LittleEndian.Uint64(h[8*i:]), carry)
	}
	s.rows++
}

func (s *sum) equal(other *sum) bool { return s.rows == other.rows && s.acc == other.acc }

func (s *sum) digest() (b []byte) {
	for _, n := range s.acc {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// cursor is the key of a row, as recorded in the target for the progress of the move.
type cursor []any

// MarshalJSON implements json.Marshaler.
func (c cursor) MarshalJSON() ([]byte, error) {
	all := make([]map[string]any, len(c))
	for i, v := range c {
		switch v := v.(type) {
		case nil:
			all[i] = map[string]any{}
		case int64:
			all[i] = map[string]any{"int": v}
		case bool:
			all[i] = map[string]any{"bool": v}
		case float64:
			all[i] = map[string]any{"float": math.Float64bits(v)}
		case string:
			all[i] = map[string]any{"text": v}
		case []byte:
			all[i] = map[string]any{"bytes": v}
		case time.Time:
			all[i] = map[string]any{"moment": v.UnixMicro()}
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *cursor) UnmarshalJSON(text []byte) error {
	var all []struct {
		Int, Moment *int64
		Bool        *bool
		Float       *uint64
		Text        *string
		Bytes       *[]byte
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*c = nil
	for _, v := range all {
		var one any
		switch {
		case v.Int != nil:
			one = *v.Int
		case v.Bool != nil:
			one = *v.Bool
		case v.Float != nil:
			one = math.Float64frombits(*v.Float)
		case v.Text != nil:
			one = *v.Text
		case v.Bytes != nil:
			one = *v.Bytes
		case v.Moment != nil:
			one = time.UnixMicro(*v.Moment).UTC()
		}
		*c = append(*c, one)
	}
	return nil
}
