package kernel

import "time"

// WireTime is a time as clients see it.
func WireTime(micros int64) string {
	t := time.UnixMicro(micros).UTC().Truncate(time.Millisecond)
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	hour, minute, second := t.Clock()
	// By hand: a list has two of them in each row, and a layout is read each time.
	text := []byte("0000-00-00T00:00:00.000Z")
	for _, part := range [...]struct{ end, n int }{{4, year}, {7, int(month)}, {10, day}, {13, hour}, {16, minute}, {19, second}, {23, t.Nanosecond() / 1e6}} {
		for i, n := part.end-1, part.n; n > 0; i, n = i-1, n/10 {
			text[i] += byte(n % 10)
		}
	}
	return string(text)
}

// WireTimeOrNull is a time that may be missing.
func WireTimeOrNull(micros int64) *string {
	if micros == 0 {
		return nil
	}
	text := WireTime(micros)
	return &text
}
