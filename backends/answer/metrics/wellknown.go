package metrics

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed issuers.txt
var issuersText string

// wellKnown is an issuer for which people use other names than its documents do.
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
		all = append(all, wellKnown{strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1]), list(fields[2])})
	}
	return all
})

// keys returns the keys that an issuer is found by.
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

// others returns the other names that people use for the issuers in names, and their tickers, and the names
// of well-known issuers that are not among them.
func others(names []Named) (more, absent []Named) {
	by := make(map[string]int64, len(names))
	for _, n := range names {
		if n.Ticker {
			by["$"+strings.ToUpper(n.Name)] = n.Issuer
			continue
		}
		by[Key(n.Name)], by[Short(n.Name)] = n.Issuer, n.Issuer
	}
	for i := range wellKnownIssuers() {
		w := &wellKnownIssuers()[i]
		issuer := by["$"+w.ticker]
		for _, key := range w.keys() {
			if issuer == 0 && len(key) > 1 {
				issuer = by[key]
			}
		}
		to := &more
		if issuer == 0 {
			to, issuer = &absent, int64(i+1)
		} else if w.ticker != "" {
			more = append(more, Named{Issuer: issuer, Name: w.ticker, Ticker: true})
		}
		for _, name := range append([]string{w.name}, w.others...) {
			*to = append(*to, Named{Issuer: issuer, Name: name})
			if owner, ok := strings.CutSuffix(name, "'s"); ok { // a possessive is read in the same way
				*to = append(*to, Named{Issuer: issuer, Name: owner})
			}
		}
	}
	return more, absent
}

// Absent returns the mentions of well-known issuers that the directory does not have. Their ids are unrelated
// to those of the directory.
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

// asWord reports whether a word that is also the name of an issuer stands as the name: it is capitalised
// within a sentence, or in the possessive, or followed by "Inc".
func asWord(s string, tokens []token, small bool) bool {
	first := tokens[0]
	word := s[first.start:first.end]
	if small || !capital(word) {
		return false
	}
	before := strings.TrimRight(s[:first.start], " \"“'(")
	if before != "" && !strings.ContainsAny(before[len(before)-1:], ".?!:") {
		return true
	}
	behind := s[first.end:]
	return strings.HasPrefix(behind, "'s") || strings.HasPrefix(behind, "’s") || strings.HasPrefix(behind, "'") ||
		strings.HasPrefix(behind, ", Inc") || strings.HasPrefix(behind, " Inc")
}
