package wire

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Served is how an answer says that it was served, as far as that may have a price of its
// own. Ordinary answers have none.
type Served struct {
	// Terms are the words for it, each in the place of its Term; empty: the ordinary way.
	Terms [terms]string
	// Calls of tools that the provider ran, by the names of the tools.
	Calls map[string]int64
}

// Term is a member of an answer that has a word for how it was served.
type Term uint8

// The members.
const (
	TermTier  Term = iota // service_tier
	TermSpeed             // speed
	TermPlace             // inference_geo
	terms
)

const (
	maxTerm   = 32 // bytes of a word or of a tool's name
	maxServed = 16 // tools
)

// Words returns the words that are not empty.
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

// String is for logs and tests.
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

// ScanTerm passes the value of a member. A later word takes the place of an earlier one:
// what was asked for is told first, and what it was served as in the end.
func ScanTerm(s *jsontext.Scanner, of **Served, member Term) error {
	if s.Kind() != jsontext.String {
		return s.Skip()
	}
	raw, _, err := s.Text()
	word := ""
	switch string(raw) {
	case "default", "standard", "auto", "on_demand", "global", "not_available":
	default:
		if named(raw) {
			word = jsontext.Known(raw, "flex", "priority", "batch", "fast", "us")
		}
	}
	if word != "" || *of != nil {
		served(of).Terms[member] = word
	}
	return err
}

// ScanServedCalls passes an object with the requests that tools of the provider made
// ("web_search_requests"). They are those of the whole answer so far.
func ScanServedCalls(s *jsontext.Scanner, of **Served) error {
	const suffix = "_requests"
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		n := int64(0)
		tool := len(key) - len(suffix)
		if tool < 1 || string(key[tool:]) != suffix {
			return s.Skip()
		}
		err := s.Count(&n)
		if n > 0 && err == nil {
			setCalls(of, key[:tool], n)
		}
		return err
	})
}

// AddServedCall counts a call of a tool that the provider ran.
func AddServedCall(of **Served, tool []byte) {
	n := int64(0)
	if *of != nil {
		n = (*of).Calls[string(tool)]
	}
	setCalls(of, tool, n+1)
}

func setCalls(of **Served, tool []byte, n int64) {
	if !named(tool) {
		return
	}
	s := served(of)
	if _, known := s.Calls[string(tool)]; !known && len(s.Calls) == maxServed {
		return
	}
	if s.Calls == nil {
		s.Calls = make(map[string]int64, 1)
	}
	s.Calls[string(tool)] = n
}

func served(of **Served) *Served {
	if *of == nil {
		*of = new(Served)
	}
	return *of
}

// named reports whether a text can be a word or a name here; others say nothing.
func named(text []byte) bool {
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
