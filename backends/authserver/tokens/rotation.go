package tokens

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxGraces is how often a refresh token that was used is let through once more.
	maxGraces = 3
	// maxPresent bounds how many refresh tokens of a family are good at the same time. Beyond it the oldest is not.
	maxPresent = 16
)

// rotation is which refresh tokens of a family are good, and which were used a moment ago. Tokens are digests. There is
// more than one that is good where one was used again within the grace: each holder goes on with their own.
type rotation struct {
	present []present
	used    []used
}

// present is a refresh token that is good.
type present struct {
	sum    string
	before string // the one for which it was given, while that may be used again; else empty
}

// used is a refresh token that was used.
type used struct {
	sum    string
	at     time.Time
	graces int // how often it was let through again
}

// In the database the parts of a token are divided by colons, and tokens by blanks.

// parseRotation reads the columns present and previous. A token of previous that has no parts but its digest was used
// at a time, and let through again so often.
func parseRotation(good, previous string, at time.Time, graces int) (r rotation) {
	for text := range strings.FieldsSeq(good) {
		sum, before, _ := strings.Cut(text, ":")
		r.present = append(r.present, present{sum, before})
	}
	for text := range strings.FieldsSeq(previous) {
		u := used{text, at, graces}
		if parts := strings.Split(text, ":"); len(parts) == 3 {
			micros, _ := strconv.ParseInt(parts[1], 10, 64)
			n, _ := strconv.Atoi(parts[2])
			u = used{parts[0], time.UnixMicro(micros), n}
		}
		r.used = append(r.used, u)
	}
	return r
}

// columns returns what parseRotation reads.
func (r *rotation) columns() (good, previous string) {
	tokens := make([]string, 0, len(r.present))
	for _, p := range r.present {
		if p.before != "" {
			p.sum += ":" + p.before
		}
		tokens = append(tokens, p.sum)
	}
	before := make([]string, 0, len(r.used))
	for _, u := range r.used {
		before = append(before, u.sum+":"+strconv.FormatInt(u.at.UnixMicro(), 10)+":"+strconv.Itoa(u.graces))
	}
	return strings.Join(tokens, " "), strings.Join(before, " ")
}

// has reports whether a token is good.
func (r *rotation) has(sum string) bool {
	return slices.ContainsFunc(r.present, func(p present) bool { return p.sum == sum })
}

// graceful reports whether a token that was used is let through once more: nobody has used what was given for it, and
// it was used no longer ago than the grace.
func (r *rotation) graceful(sum string, now time.Time, grace time.Duration) bool {
	return grace > 0 && slices.ContainsFunc(r.used, func(u used) bool {
		return u.sum == sum && u.graces < maxGraces && now.Sub(u.at) <= grace
	})
}

// turn returns the rotation after the use of a token, which is good or let through once more, for which next was given.
// Without a grace nothing is noted of the tokens that were used, so that the columns hold the digest of next alone, which
// every version of this server can read.
func (r *rotation) turn(sum, next string, now time.Time, grace time.Duration) (to rotation) {
	again, before := used{sum: sum, at: now}, ""
	for _, p := range r.present {
		if p.sum == sum {
			before = p.before // what was given for that one is used now
			continue
		}
		to.present = append(to.present, p)
	}
	for _, u := range r.used {
		switch {
		case u.sum == sum:
			again = used{sum, u.at, u.graces + 1}
		case u.sum != before && now.Sub(u.at) <= grace:
			to.used = append(to.used, u)
		}
	}
	if to.used = append(to.used, again); grace <= 0 {
		to.used = nil
	}
	to.present = append(to.present, present{sum: next, before: sum})
	if len(to.present) > maxPresent {
		to.present = to.present[len(to.present)-maxPresent:]
	}
	for i, p := range to.present { // of what cannot be used again nobody asks any more
		if !slices.ContainsFunc(to.used, func(u used) bool { return u.sum == p.before }) {
			to.present[i].before = ""
		}
	}
	return to
}
