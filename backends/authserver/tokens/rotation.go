package tokens

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxGraces is the maximum number of times that a used refresh token is accepted again.
	maxGraces = 3
	// maxPresent is the maximum number of refresh tokens of a family that are valid at the same time. Beyond it, the
	// oldest becomes invalid.
	maxPresent = 16
)

// rotation holds digests of a family's valid refresh tokens and of its recently used ones. If a used token is accepted
// again within the grace period, several refresh tokens are valid: each holder continues with the token it received.
type rotation struct {
	present []present
	used    []used
}

// present is a valid refresh token.
type present struct {
	sum      string // the digest of the token
	replaces string // the digest of the token that it replaced; empty if that token cannot be used again
}

// used is a refresh token that was replaced by another.
type used struct {
	sum    string // the digest of the token
	usedAt time.Time
	graces int // how often it was accepted again
}

// In the database, tokens are separated by spaces and the parts of a token by colons.

// parseRotation returns the rotation that is stored in the columns present and previous. An entry of the column
// previous may consist of a digest only. For such an entry, usedAt is the time at which the token was used, and
// graces is the number of times that the token was accepted again.
func parseRotation(presentText, previousText string, usedAt time.Time, graces int) (r rotation) {
	for text := range strings.FieldsSeq(presentText) {
		sum, replacedSum, _ := strings.Cut(text, ":")
		r.present = append(r.present, present{sum, replacedSum})
	}
	for text := range strings.FieldsSeq(previousText) {
		u := used{text, usedAt, graces}
		if parts := strings.Split(text, ":"); len(parts) == 3 {
			micros, _ := strconv.ParseInt(parts[1], 10, 64)
			n, _ := strconv.Atoi(parts[2])
			u = used{parts[0], time.UnixMicro(micros), n}
		}
		r.used = append(r.used, u)
	}
	return r
}

// columns returns the valid tokens for the column present, and the used tokens for the column previous.
func (r *rotation) columns() (present, previous string) {
	tokens := make([]string, 0, len(r.present))
	for _, p := range r.present {
		if p.replaces != "" {
			p.sum += ":" + p.replaces
		}
		tokens = append(tokens, p.sum)
	}
	used := make([]string, 0, len(r.used))
	for _, u := range r.used {
		used = append(used, u.sum+":"+strconv.FormatInt(u.usedAt.UnixMicro(), 10)+":"+strconv.Itoa(u.graces))
	}
	return strings.Join(tokens, " "), strings.Join(used, " ")
}

// has reports whether the refresh token with the digest sum is valid and has not been used.
func (r *rotation) has(sum string) bool {
	return slices.ContainsFunc(r.present, func(p present) bool { return p.sum == sum })
}

// graceful reports whether the used token with the digest sum is accepted once more. The token must have been used no
// longer ago than grace, and its replacement must not have been used.
func (r *rotation) graceful(sum string, now time.Time, grace time.Duration) bool {
	return grace > 0 && slices.ContainsFunc(r.used, func(u used) bool {
		return u.sum == sum && u.graces < maxGraces && now.Sub(u.usedAt) <= grace
	})
}

// replace returns a copy of the rotation in which the token with the digest newSum has replaced the token with the
// digest oldSum. The replaced token must be valid or graceful. Without a grace period the copy has no used tokens:
// the columns then hold only the digest newSum, which every version of this server can read.
func (r *rotation) replace(oldSum, newSum string, now time.Time, grace time.Duration) (result rotation) {
	predecessor := "" // the token that oldSum replaced; it is not accepted again, since oldSum was received
	for _, p := range r.present {
		if p.sum == oldSum {
			predecessor = p.replaces
		} else {
			result.present = append(result.present, p)
		}
	}
	newlyUsed := used{sum: oldSum, usedAt: now}
	for _, u := range r.used {
		switch {
		case u.sum == oldSum: // accepted again within the grace period
			newlyUsed = used{oldSum, u.usedAt, u.graces + 1}
		case u.sum != predecessor && now.Sub(u.usedAt) <= grace:
			result.used = append(result.used, u)
		}
	}
	if grace > 0 {
		result.used = append(result.used, newlyUsed)
	} else {
		result.used = nil
	}
	result.present = append(result.present, present{sum: newSum, replaces: oldSum})
	if len(result.present) > maxPresent {
		result.present = result.present[len(result.present)-maxPresent:] // the oldest become invalid
	}
	for i, p := range result.present { // a link to a token that cannot be used again is not needed
		if !slices.ContainsFunc(result.used, func(u used) bool { return u.sum == p.replaces }) {
			result.present[i].replaces = ""
		}
	}
	return result
}
