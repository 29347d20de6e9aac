package runevents

import "time"

// maxMillis is the end of the year 9999 in Unix milliseconds.
const maxMillis = 253402300799999

// parseInstant parses an ISO 8601 time with an offset, the format of agents, to Unix milliseconds. It truncates smaller
// units. ok is false for a time that is invalid, before 1970 or after the year 9999.
func parseInstant(text []byte) (ms int64, ok bool) {
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' || text[7] != '-' ||
		(text[10] != 'T' && text[10] != 't' && text[10] != ' ') || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	ok = true
	number := func(start, end int) int { // sets ok to false if text[start:end] does not consist of digits
		n := 0
		for _, c := range text[start:end] {
			if c < '0' || c > '9' {
				ok = false
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if !ok || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 60 { // 60: leap second
		return 0, false
	}
	parsed := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if day > 28 && time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, false // the month has fewer days
	}
	ms = parsed.UnixMilli()
	i := len("2006-01-02T15:04:05")
	if text[i] == '.' || text[i] == ',' {
		scale := int64(100) // milliseconds of the next digit; 0 after the third one
		for i++; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			ms += int64(text[i]-'0') * scale
			scale /= 10
		}
		if text[i-1] == '.' || text[i-1] == ',' { // no digit follows
			return 0, false
		}
	}
	offset, ok := parseOffset(text[i:])
	ms -= offset
	return ms, ok && ms >= 0 && ms <= maxMillis
}

// parseOffset parses the offset Z, +hh, +hhmm or +hh:mm to milliseconds.
func parseOffset(text []byte) (ms int64, ok bool) {
	if len(text) == 1 && (text[0] == 'Z' || text[0] == 'z') {
		return 0, true
	}
	if len(text) == 6 && text[3] == ':' {
		text = append(append(make([]byte, 0, 5), text[:3]...), text[4:]...) // +hhmm, in a copy
	}
	if len(text) != 3 && len(text) != 5 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	minutes := 60 * (10*int64(text[1]-'0') + int64(text[2]-'0'))
	if len(text) == 5 {
		minutesPastHour := 10*int64(text[3]-'0') + int64(text[4]-'0')
		if minutesPastHour > 59 {
			return 0, false
		}
		minutes += minutesPastHour
	}
	if minutes >= 24*60 {
		return 0, false
	}
	if text[0] == '-' {
		minutes = -minutes
	}
	return minutes * 60_000, true
}

// dayOf returns the day of a time in Unix milliseconds, as the number of days since 1970.
func dayOf(ms int64) int64 { return floor(ms, 24*60*60*1000) }

// hourOf returns the hour of a time in Unix milliseconds, as the number of hours since 1970.
func hourOf(ms int64) int64 { return floor(ms, 60*60*1000) }

// floor returns n / unit, rounded down.
func floor(n, unit int64) int64 {
	if n < 0 {
		return (n - unit + 1) / unit
	}
	return n / unit
}
