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

// kind is the type of a column's values in this package. It is the same for both engines. A value is nil or has the Go
// type in the comment of its kind.
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

// kindOf returns the kind of a PostgreSQL type.
func kindOf(typ string) (kind, error) {
	k, ok := kinds[typ]
	if !ok {
		return 0, fmt.Errorf("has the type %s, which cannot be moved", typ)
	}
	return k, nil
}

// timeFormats are the formats in which SQLite may hold times as text. New values are written in the first format.
var timeFormats = []string{"2006-01-02 15:04:05.999999-07:00", time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02"}

// value converts a value from a driver to the Go type of the kind. It returns nil for nil.
func (k kind) value(scanned any) (any, error) {
	if scanned == nil {
		return nil, nil
	}
	switch k {
	case kindInt, kindInt4, kindInt2:
		return k.number(scanned)
	case kindBool:
		switch v := scanned.(type) {
		case bool:
			return v, nil
		case int64:
			if v == 0 || v == 1 {
				return v == 1, nil
			}
		}
	case kindFloat:
		switch v := scanned.(type) {
		case float64:
			return v, nil
		case int64:
			if f := float64(v); int64(f) == v {
				return f, nil
			}
		}
	case kindText:
		switch v := scanned.(type) {
		case string:
			return checkText(v)
		case []byte:
			return checkText(string(v))
		}
	case kindBytes:
		switch v := scanned.(type) {
		case []byte:
			return append([]byte{}, v...), nil // an empty slice instead of nil, which drivers write as NULL
		case string:
			return []byte(v), nil
		}
	case kindMoment:
		switch v := scanned.(type) {
		case time.Time:
			return v.UTC().Truncate(time.Microsecond), nil
		case string:
			for _, format := range timeFormats {
				if t, err := time.Parse(format, v); err == nil {
					return t.UTC().Truncate(time.Microsecond), nil
				}
			}
		}
	}
	return nil, fmt.Errorf("holds a value of another type (%T), which cannot be moved", scanned)
}

// number converts a value to an int64 that fits in the kind. A bool becomes 0 or 1.
func (k kind) number(scanned any) (any, error) {
	v, ok := scanned.(int64)
	if b, isBool := scanned.(bool); isBool {
		ok = true
		if b {
			v = 1
		}
	}
	if !ok {
		return nil, fmt.Errorf("holds a value of another type (%T), which cannot be moved", scanned)
	}
	if k == kindInt4 && int64(int32(v)) != v || k == kindInt2 && int64(int16(v)) != v {
		return nil, fmt.Errorf("holds %d, for which the type of the other engine is too small", v)
	}
	return v, nil
}

// checkText returns a text unchanged, or an error if PostgreSQL cannot store it.
func checkText(v string) (any, error) {
	if !utf8.ValidString(v) {
		return nil, errors.New("holds text that is not UTF-8, which PostgreSQL cannot store: correct it in the source")
	}
	if strings.IndexByte(v, 0) >= 0 {
		return nil, errors.New("holds text with a zero byte, which PostgreSQL cannot store: correct it in the source")
	}
	return v, nil
}

// forSQLite converts a value to the form in which SQLite stores it.
func forSQLite(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.Format(timeFormats[0])
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
	panic(fmt.Sprintf("a value of the type %T", v)) // kind.value returns no value of another type
}

// sum is a digest of rows that does not depend on their order: the sum of their SHA-256 hashes as numbers, modulo
// 2^256. It is needed because each engine returns the rows in a different order.
type sum struct {
	rows  int64
	total [4]uint64 // least significant first
	buf   []byte    // encoding of the last row
}

// add adds a row to the sum.
func (s *sum) add(row []any) {
	s.buf = s.buf[:0]
	for _, v := range row {
		s.buf = appendValue(s.buf, v)
	}
	hash := sha256.Sum256(s.buf)
	var carry uint64
	for i := range s.total {
		s.total[i], carry = bits.Add64(s.total[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
	s.rows++
}

// equal reports whether two sums are of the same rows.
func (s *sum) equal(t *sum) bool { return s.rows == t.rows && s.total == t.total }

// digest returns the sum as 32 bytes.
func (s *sum) digest() (b []byte) {
	for _, n := range s.total {
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
		var element any
		switch {
		case v.Int != nil:
			element = *v.Int
		case v.Bool != nil:
			element = *v.Bool
		case v.Float != nil:
			element = math.Float64frombits(*v.Float)
		case v.Text != nil:
			element = *v.Text
		case v.Bytes != nil:
			element = *v.Bytes
		case v.Moment != nil:
			element = time.UnixMicro(*v.Moment).UTC()
		}
		*c = append(*c, element)
	}
	return nil
}
