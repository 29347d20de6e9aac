package wire

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Served holds the facts of an answer that may change its price: how the request was served, and which tools the
// provider ran. It is nil for ordinary answers.
type Served struct {
	// Terms are the values of the answer's JSON fields that state how the request was served, indexed by Term. An empty
	// value means ordinary service.
	Terms [termCount]string
	// Calls counts the calls of tools that the provider ran, by tool name.
	Calls map[string]int64
}

// Term identifies a JSON field of an answer that states how the request was served.
type Term uint8

// The JSON fields.
const (
	TermTier  Term = iota // service_tier
	TermSpeed             // speed
	TermPlace             // inference_geo
	termCount
)

const (
	maxTerm   = 32 // bytes of a value or a tool's name
	maxServed = 16 // number of tools
)

// Words returns the values in Terms that are not empty.
func (s *Served) Words() (words []string) {
	if s == nil {
		return nil
	}
	for _, word := range s.Terms {
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}

// String returns the terms and calls as a text for logs and tests.
func (s *Served) String() string {
	if s == nil {
		return "as usual"
	}
	words := s.Words()
	for _, tool := range slices.Sorted(maps.Keys(s.Calls)) {
		words = append(words, tool+"="+strconv.FormatInt(s.Calls[tool], 10))
	}
	return strings.Join(words, " ")
}

// ScanTerm scans the value of a field and stores the value in (*dst).Terms[member]. A later value replaces an earlier
// one: an answer first states the service that was requested and at the end the service that was delivered.
func ScanTerm(s *jsontext.Scanner, dst **Served, member Term) error {
	if s.Kind() != jsontext.String {
		return s.Skip()
	}
	raw, _, err := s.Text()
	word := ""
	switch string(raw) {
	case "default", "standard", "auto", "on_demand", "global", "not_available": // ordinary service
	default:
		if isName(raw) {
			word = jsontext.Known(raw, "flex", "priority", "batch", "fast", "us")
		}
	}
	if word != "" || *dst != nil { // ordinary service replaces an earlier value, but no Served is allocated for it alone
		allocated(dst).Terms[member] = word
	}
	return err
}

// ScanServedCalls scans an object with the number of requests that each of the provider's tools made
// ("web_search_requests"). The numbers are totals for the answer so far.
func ScanServedCalls(s *jsontext.Scanner, dst **Served) error {
	const suffix = "_requests"
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		n := int64(0)
		nameLen := len(key) - len(suffix)
		if nameLen < 1 || string(key[nameLen:]) != suffix {
			return s.Skip()
		}
		err := s.Count(&n)
		if n > 0 && err == nil {
			setCalls(dst, key[:nameLen], n)
		}
		return err
	})
}

// AddServedCall adds 1 to the number of calls of a tool that the provider ran.
func AddServedCall(dst **Served, tool []byte) {
	n := int64(0)
	if *dst != nil {
		n = (*dst).Calls[string(tool)]
	}
	setCalls(dst, tool, n+1)
}

// setCalls stores n as the number of a tool's calls. It ignores a tool whose name has an unusual form. It also
// ignores a tool without a stored number if numbers for maxServed tools are stored.
func setCalls(dst **Served, tool []byte, n int64) {
	if !isName(tool) {
		return
	}
	s := allocated(dst)
	if _, known := s.Calls[string(tool)]; !known && len(s.Calls) == maxServed {
		return
	}
	if s.Calls == nil {
		s.Calls = make(map[string]int64, 1)
	}
	s.Calls[string(tool)] = n
}

// allocated returns *dst, which it allocates if it is nil.
func allocated(dst **Served) *Served {
	if *dst == nil {
		*dst = new(Served)
	}
	return *dst
}

// isName reports whether a text has the form of a tool's name or a Term's value. Other texts are ignored.
func isName(text []byte) bool {
	if len(text) == 0 || len(text) > maxTerm {
		return false
	}
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
