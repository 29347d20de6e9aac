package syntax

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The accepted formats of a time: a date with an optional time of day, or a time of day alone, which means 1970-01-01.
//
// These are the numbers of their groups in dateTimes:
//
//   - 1 to 3: year-month-day, with month and day optional
//   - 4 to 6: yyyymmdd
//   - 7 to 9: year-Wweek-weekday, with the weekday optional
//   - 10 and 11: year-day of the year
//   - 12 to 15: hour:minute:second.fraction, all but the hour optional
//   - 16 to 19: hhmmss.fraction, with the fraction optional
//   - 20: zone
var (
	dateForm = `(?:(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?|(\d{4})(\d{2})(\d{2})|(\d{4})-W(\d{2})(?:-(\d))?|(\d{4})-(\d{3}))`
	timeForm = `(?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d+))?)?)?|(\d{2})(\d{2})(\d{2})(?:[.,](\d+))?)`
	zoneForm = `([Zz]|[+-]\d{2}(?::?\d{2})?)?`

	dateTimes  = regexp.MustCompile(`^` + dateForm + `(?:[Tt ]` + timeForm + zoneForm + `)?$`)
	timesOfDay = regexp.MustCompile(`^(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?` + zoneForm + `$`)
)

// maxTimeText limits the length of a time, whose fraction may be long.
const maxTimeText = 64

// ParseTime parses a time, in ISO 8601 or in the format of RFC 5322, to Unix milliseconds. Without a zone, the time is
// in UTC.
func ParseTime(s string) (ms int64, ok bool) {
	if len(s) > maxTimeText {
		return 0, false
	}
	if t, err := time.Parse("Mon, 02 Jan 2006 15:04:05 -0700", s); err == nil {
		return t.UnixMilli(), true
	}
	if m := timesOfDay.FindStringSubmatch(s); m != nil {
		return unixMillis(1970, 1, 1, m[1], m[2], m[3], m[4], m[5])
	}
	m := dateTimes.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	var year, month, day int
	switch {
	case m[1] != "": // year-month-day
		year, month, day = number(m[1], 0), number(m[2], 1), number(m[3], 1)
	case m[4] != "": // yyyymmdd
		year, month, day = number(m[4], 0), number(m[5], 1), number(m[6], 1)
	case m[7] != "": // year-week-weekday
		week, weekday := number(m[8], 1), number(m[9], 1)
		if weekday < 1 || weekday > 7 || week < 1 {
			return 0, false
		}
		// The first week of a year is the week that contains January 4.
		year = number(m[7], 0)
		january4 := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		firstMonday := 4 - (int(january4.Weekday())+6)%7 // day of January; may be 0 or negative
		d := time.Date(year, 1, firstMonday+7*(week-1)+weekday-1, 0, 0, 0, 0, time.UTC)
		if y, w := d.ISOWeek(); y != year || w != week {
			return 0, false
		}
		year, month, day = d.Year(), int(d.Month()), d.Day()
	default: // year-day of the year
		year = number(m[10], 0)
		d := time.Date(year, 1, number(m[11], 1), 0, 0, 0, 0, time.UTC)
		if d.Year() != year { // the year has no such day
			return 0, false
		}
		month, day = int(d.Month()), d.Day()
	}
	if m[16] != "" { // hhmmss
		return unixMillis(year, month, day, m[16], m[17], m[18], m[19], m[20])
	}
	return unixMillis(year, month, day, m[12], m[13], m[14], m[15], m[20])
}

// number converts digits to a number, or returns fallback if digits is empty.
func number(digits string, fallback int) int {
	if digits == "" {
		return fallback
	}
	n, _ := strconv.Atoi(digits) // the formats above have only a few digits
	return n
}

// unixMillis converts the parts of a time to Unix milliseconds. Empty parts count as 0, and an empty zone as UTC. ok is
// false for a time that does not exist.
func unixMillis(year, month, day int, hour, minute, second, fraction, zone string) (unix int64, ok bool) {
	h, m, s := number(hour, 0), number(minute, 0), number(second, 0)
	if h > 23 || m > 59 || s > 59 {
		return 0, false
	}
	fractionMillis := number((fraction + "000")[:3], 0)
	t := time.Date(year, time.Month(month), day, h, m, s, fractionMillis*int(time.Millisecond), time.UTC)
	if t.Year() != year || int(t.Month()) != month || t.Day() != day {
		return 0, false // February 30
	}
	withoutZone := t.UnixMilli()
	if len(zone) < 3 { // empty or Z
		return withoutZone, true
	}
	digits := strings.ReplaceAll(zone[1:], ":", "")
	zoneHours, zoneMinutes := number(digits[:2], 0), number(digits[2:], 0)
	if zoneHours > 23 || zoneMinutes > 59 {
		return 0, false
	}
	offset := int64(zoneHours*60+zoneMinutes) * 60_000
	if zone[0] == '-' {
		offset = -offset
	}
	return withoutZone - offset, true
}

// AppendTime appends a time in Unix milliseconds in the format of all answers, such as 2026-03-02T10:27:54.161Z. Since
// formatting times takes a large part of the time for a long answer, there is a faster implementation for the years
// 1970 to 9999.
func AppendTime(b []byte, ms int64) []byte {
	if ms < 0 || ms > MaxEpoch {
		return time.UnixMilli(ms).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	}
	const dayLength = 24 * 60 * 60 * 1000
	days, msOfDay := ms/dayLength, int(ms%dayLength)
	// Compute the date in years that begin in March: 400 years have 146,097 days, and months from March on have 30.6
	// days on average.
	days += 719_468 // since March 1 of the year 0
	era := days / 146_097
	day := int(days % 146_097)
	year := (day - day/1_460 + day/36_524 - day/146_096) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153
	day -= (153*month + 2) / 5
	year += int(era) * 400
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	const digits = "0123456789"
	two := func(n int) (tens, ones byte) { return digits[n/10], digits[n%10] }
	y1, y2 := two(year / 100)
	y3, y4 := two(year % 100)
	o1, o2 := two(month)
	d1, d2 := two(day + 1)
	h1, h2 := two(msOfDay / 3_600_000)
	m1, m2 := two(msOfDay / 60_000 % 60)
	s1, s2 := two(msOfDay / 1000 % 60)
	f1, f2 := two(msOfDay % 1000 / 10)
	return append(b, y1, y2, y3, y4, '-', o1, o2, '-', d1, d2, 'T', h1, h2, ':', m1, m2, ':', s1, s2, '.', f1, f2,
		digits[msOfDay%10], 'Z')
}

// MaxEpoch limits times that are given as numbers: it is the end of the year 9999.
const MaxEpoch = 253_402_300_799_999
