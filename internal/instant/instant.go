// Package instant defines the form in which services store times: microseconds since 1970.
package instant

import "time"

// Moment is an instant in microseconds since 1970, as stored in databases. Zero means never. In JSON it is a text; see
// String.
type Moment int64

// Of returns the moment of a time.
func Of(t time.Time) Moment { return Moment(t.UnixMicro()) }

// Time returns the moment as a time.Time, for calculations with days and zones.
func (m Moment) Time() time.Time { return time.UnixMicro(int64(m)) }

// Add returns the moment d later.
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d.Microseconds()) }

// Sub returns the duration m-u, which must be less than 292 years.
func (m Moment) Sub(u Moment) time.Duration { return time.Duration(m-u) * time.Microsecond }

// String returns the moment in RFC 3339, in UTC with milliseconds.
func (m Moment) String() string { return string(m.append(nil)) }

// MarshalText implements encoding.TextMarshaler.
func (m Moment) MarshalText() ([]byte, error) { return m.append(nil), nil }

// AppendJSON appends the text of MarshalText as a JSON string.
func (m Moment) AppendJSON(dst []byte) []byte { return append(m.append(append(dst, '"')), '"') }

// UnmarshalText parses the text that MarshalText returns.
func (m *Moment) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	*m = Of(t)
	return err
}

func (m Moment) append(dst []byte) []byte {
	t := m.Time().UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	}
	hour, minute, second := t.Clock()
	// Format by hand: a list has two times in each row, and Format would parse the layout each time.
	start := len(dst)
	dst = append(dst, "0000-00-00T00:00:00.000Z"...)
	text := dst[start:]
	for _, part := range [...]struct{ end, n int }{ // a number, and the offset behind its last digit
		{4, year}, {7, int(month)}, {10, day}, {13, hour}, {16, minute}, {19, second}, {23, t.Nanosecond() / 1e6},
	} {
		for i, n := part.end-1, part.n; n > 0; i, n = i-1, n/10 {
			text[i] += byte(n % 10)
		}
	}
	return dst
}
