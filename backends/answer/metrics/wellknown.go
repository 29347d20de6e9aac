package metrics

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed issuers.txt
var issuersText string

// wellKnown is an issuer that people know by other names than the name in its documents.
type wellKnown struct {
	name, ticker string
	others       []string
}

// wellKnownIssuers returns the issuers in issuers.txt. It parses the file once.
var wellKnownIssuers = sync.OnceValue(func() []wellKnown {
	var all []wellKnown
	for line := range strings.Lines(issuersText) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.SplitN(line+"||", "|", 4)
		all = append(all, wellKnown{strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1]), splitList(fields[2])})
	}
	return all
})

// keys returns the keys of a Directory under which an issuer is found.
func (w *wellKnown) keys() []string {
	keys := make([]string, 0, 2+2*len(w.others))
	keys = append(keys, Key(w.name), Short(w.name))
	for _, other := range w.others {
		keys = append(keys, Key(other), Short(other))
	}
	return keys
}

// wellKnownKeys returns the keys of all well-known issuers.
var wellKnownKeys = sync.OnceValue(func() map[string]bool {
	keys := make(map[string]bool)
	for i := range wellKnownIssuers() {
		for _, key := range wellKnownIssuers()[i].keys() {
			keys[key] = true
		}
	}
	return keys
})

// WellKnown reports whether a text is the name of a well-known issuer and nothing else.
func WellKnown(text string) bool {
	return len(text) < maxName && len(Key(text)) > 1 && (wellKnownKeys()[Key(text)] || wellKnownKeys()[Short(text)])
}

// maxName bounds the length of a name in bytes.
const maxName = 120

// otherNames returns two lists. colloquial are the other names and the tickers that people use for the issuers in
// names. absent are the names of well-known issuers that are not among the issuers in names; their ids are unrelated to
// the ids in names.
func otherNames(names []Named) (colloquial, absent []Named) {
	issuerOf := make(map[string]int64, len(names)) // keyed by Key and Short of names, and by tickers after "$"
	for _, n := range names {
		if n.Ticker {
			issuerOf["$"+strings.ToUpper(n.Name)] = n.Issuer
			continue
		}
		issuerOf[Key(n.Name)], issuerOf[Short(n.Name)] = n.Issuer, n.Issuer
	}
	for i := range wellKnownIssuers() {
		w := &wellKnownIssuers()[i]
		issuer := issuerOf["$"+w.ticker]
		for _, key := range w.keys() {
			if issuer == 0 && len(key) > 1 {
				issuer = issuerOf[key]
			}
		}
		list := &colloquial
		if issuer == 0 {
			list, issuer = &absent, int64(i+1) // any id that distinguishes the absent issuers from each other
		} else if w.ticker != "" {
			colloquial = append(colloquial, Named{Issuer: issuer, Name: w.ticker, Ticker: true})
		}
		for _, name := range append([]string{w.name}, w.others...) {
			*list = append(*list, Named{Issuer: issuer, Name: name})
			if owner, ok := strings.CutSuffix(name, "'s"); ok { // a possessive is read in the same way
				*list = append(*list, Named{Issuer: issuer, Name: owner})
			}
		}
	}
	return colloquial, absent
}

// Absent returns the mentions of well-known issuers that the directory does not have. The ids of these issuers are
// unrelated to the ids of the directory.
func (d *Directory) Absent(text string) (found []IssuerMention) {
	if d.absent == nil {
		return nil
	}
	for _, m := range d.absent.Find(text) {
		if name := text[m.Start:m.End]; !m.Slip && !acronyms[strings.ToUpper(name)] {
			found = append(found, m)
		}
	}
	return found
}

// isUsedAsName reports whether a word of the text s is used as the name of an issuer. first is the word, which is
// also the name of an issuer. It is used as the name if it is capitalised within a sentence, or if it is capitalised
// and has a possessive ending or "Inc" after it. In a text without a capitalised word (lowercase) it is not.
func isUsedAsName(s string, first token, lowercase bool) bool {
	word := s[first.start:first.end]
	if lowercase || !isCapitalised(word) {
		return false
	}
	left := strings.TrimRight(s[:first.start], " \"“'(")
	if left != "" && !strings.ContainsAny(left[len(left)-1:], ".?!:") {
		return true
	}
	right := s[first.end:]
	return strings.HasPrefix(right, "'s") || strings.HasPrefix(right, "’s") || strings.HasPrefix(right, "'") ||
		strings.HasPrefix(right, ", Inc") || strings.HasPrefix(right, " Inc")
}
