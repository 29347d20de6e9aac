package metrics

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// legalForms holds words for legal forms and the like at the end of a name, which people leave out.
var legalForms = kernel.Words(`inc incorporated corp corporation co company companies ltd limited plc llc lp llp sa ag nv se gmbh ab asa as oyj spa
	kgaa kk bhd pty holdings holding group partners trust`)

// Key returns the name of an issuer in a form for comparison: words of letters and digits in lower case, separated by
// one space. "&" becomes "and", and a leading article is removed.
func Key(name string) string {
	words := words(name)
	if len(words) > 1 && words[0] == "the" {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// words returns the words of a name. Letters with points between them are one word, as in "S.p.A.".
func words(name string) []string {
	name = strings.NewReplacer("&", " and ", ".", "", "'", "", "’", "").Replace(text.Fold(name))
	return strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) &&
			!unicode.IsMark(r)
	})
}

// Short returns the Key of a name without its legal form: "wexlermere" for "Wexlermere Inc.". If nothing else would be
// left, it returns the Key.
func Short(name string) string {
	all := words(Key(name))
	n := len(all)
	for n > 1 && legalForms[all[n-1]] {
		n--
	}
	return strings.Join(all[:n], " ")
}

// Named is one name or ticker of an issuer.
type Named struct {
	Issuer int64
	Name   string
	// Ticker reports that the name is a ticker. A ticker is found only in capitals, after "$", or in parentheses.
	Ticker bool
}

// Directory finds issuers in a text by their names. It is immutable and safe for concurrent use.
//
// For "Wexlermere Industries Inc." with the ticker WXLM it has the keys "wexlermere industries inc" and "wexlermere
// industries", the head "wexlermere", and the ticker "WXLM". The values of the maps are the ids of the issuers.
type Directory struct {
	keys        map[string][]int64 // keyed by Key or Short of a name
	heads       map[string]int64   // keyed by the first words of longer names that belong to one issuer alone
	tickers     map[string][]int64
	maxKeyWords int                 // the number of words of the longest key
	initial     map[string][]string // the keys by their first byte, to find names with a slip of spelling
	headInitial map[string][]string // the heads by their first byte, for the same purpose
	words       map[string]bool     // keys that are ordinary words as well
	absent      *Directory          // the directory of well-known issuers that this directory does not have, or nil
}

// NewDirectory returns a directory of the names. The directory also finds other names that people use for the same
// issuers.
func NewDirectory(names []Named) *Directory {
	colloquial, absent := otherNames(names)
	d := newDirectory(append(slices.Clip(names), colloquial...), colloquial)
	d.absent = newDirectory(absent, absent)
	d.absent.heads, d.absent.headInitial = nil, nil // only whole names are found
	return d
}

// newDirectory returns a directory of names. Some of the names do not come from documents but are names that people
// use. colloquial lists these names; single words among them may be ordinary words as well.
func newDirectory(names, colloquial []Named) *Directory {
	d := &Directory{
		words: make(map[string]bool), keys: make(map[string][]int64), tickers: make(map[string][]int64),
		initial: make(map[string][]string),
	}
	add := func(key string, issuer int64) {
		if len(key) < 2 || common[key] {
			return
		}
		if ordinary[key] || everyday[key] {
			d.words[key] = true
		}
		if slices.Contains(d.keys[key], issuer) {
			return
		}
		if d.keys[key] == nil && len(key) >= slipLetters { // a new key that may be found with a slip
			d.initial[key[:1]] = append(d.initial[key[:1]], key)
		}
		d.keys[key] = append(d.keys[key], issuer)
		d.maxKeyWords = max(d.maxKeyWords, strings.Count(key, " ")+1)
	}
	d.heads, d.headInitial = heads(names), make(map[string][]string)
	for head := range d.heads {
		d.headInitial[head[:1]] = append(d.headInitial[head[:1]], head)
	}
	for _, n := range names {
		if n.Ticker {
			ticker := strings.ToUpper(n.Name)
			if !slices.Contains(d.tickers[ticker], n.Issuer) {
				d.tickers[ticker] = append(d.tickers[ticker], n.Issuer)
			}
			continue
		}
		add(Key(n.Name), n.Issuer)
		add(Short(n.Name), n.Issuer)
	}
	for _, n := range colloquial {
		if key := Short(n.Name); !n.Ticker && !strings.Contains(key, " ") {
			d.words[key] = true
		}
	}
	return d
}

// heads returns the words by which people call issuers for short, each with the id of its issuer. Such a word is the
// first word of a name, no other issuer's name contains it, and it is not an everyday word.
func heads(names []Named) map[string]int64 {
	owners := make(map[string]int64) // 0 for a word that cannot be a head
	for _, n := range names {
		all := words(Short(n.Name))
		if n.Ticker || len(all) == 0 {
			continue
		}
		if issuer, ok := owners[all[0]]; ok && issuer != n.Issuer {
			owners[all[0]] = 0
			continue
		}
		owners[all[0]] = n.Issuer
		// A word that occurs later in the name of another issuer is no head: if there is a "Green Field", "Field" does not
		// stand for "Field Motors".
		for _, word := range all[1:] {
			if owners[word] != n.Issuer {
				owners[word] = 0
			}
		}
	}
	for word, issuer := range owners {
		if issuer == 0 || len(word) < headLetters || common[word] || everyday[word] || legalForms[word] {
			delete(owners, word)
		}
	}
	return owners
}

// headLetters is the least length of a first word that may be used for the whole name.
const headLetters = 5

// everyday holds first words of names that do not identify an issuer.
var everyday = kernel.Words(`advanced allied alpha alternative amalgamated american applied asian associated atlantic automatic aviation banking british broad business canadian capital
	cardinal carnival central century chemical china chinese citizens civil clear coastal colonial columbia commerce commercial common commonwealth communications community
	computer consolidated constellation consumer continental cooper cosmic credit crown cyber delta digital direct discover discovery diversified dollar dutch dynamic eagle
	eastern eclipse economic edison electric electronic electronics elite emerging empire employers energy enterprise entertainment environmental equity eurasian european
	everest evergreen exchange express federal fidelity financial finance focus foreign forest franklin freedom french frontier future galaxy gaming genesis german giant
	globe golden grand graphic great green group growth guardian harbor hawaiian health healthcare heritage highland hilton holding holdings horizon hospital hotel house imperial income
	independence independent india indian industrial infinity information innovative insight institutional insurance integrated interactive international internet invest
	investment investors island italian japan japanese jefferson journal knight korea large latin leading legacy liberty lifetime light lincoln local logistics london lucky
	madison magna major manhattan marathon marine market materials matrix media medical memorial mercantile merchants meridian metro metropolitan micro microwave middle midland midwest
	mineral mining mobile modern monarch mountain municipal mutual nation nations natural network noble nordic norfolk north northeast northern northwest nuclear ocean
	omega online optical orange orient oriental outdoor pacific palace paper paramount partners patriot peoples performance petroleum pharmaceutical phoenix pioneer pipeline planet
	platinum popular power precision preferred premier premium price prime principal private professional progress progressive property prospect provident public quality
	quantum quest radiant radio railway rapid realty regal regency regional reliance republic research resource resources retail retirement revenue river robert rocket royal
	safety sales saint schools science scientific security select senior service services shareholder shares sierra signal silicon silver simple small smart social software solar solid
	source south southeast southern southwest space spectrum sports standard state states steel stellar sterling stock stocks store strategic strategy student summit sunrise superior supreme swiss
	system systems taiwan technical technology telecom telephone television texas titan tokyo total tower trade trading tradition transport travel triumph trust turner twenty ultra
	union unique united unity universal university urban utilities valley value vanguard vector venture victory village virginia virtual vision vista wealth welcome western
	white window winter wireless women world worldwide young zenith apple alphabet amazon oracle meta shell chevron carnival visa match block target square`)

// common holds words that are never names, because questions often contain them for other reasons.
var common = kernel.Words(`first general national american global united international new the and best`)

// ordinary holds names of issuers that are words as well. They are read as words unless isUsedAsName returns true.
var ordinary = kernel.Words(`target gap visa block square snap booking charter progressive shell dow fox spectrum match unity delta southwest emerson chubb ford key meta ice bat cat chase post guess express
	buckle finish limited nice box domino opera ally sea lemonade root upwork yum all dominion prudential travelers principal carnival southern otis`)

// slipLetters is the least length of a name in which a slip is accepted: one letter added, left out, changed or swapped
// with the next.
const slipLetters = 6

// IssuerMention is a place in a text that names an issuer, or several issuers with the same name: "Wexlermere" in "Did
// Wexlermere's sales rise?".
type IssuerMention struct {
	Issuers    []int64 // the ids of the issuers; never empty
	Start, End int     // the byte offsets of the name in the text
	// Slip reports that the name is spelled with a slip.
	Slip bool
}

// maxWords bounds the words of a text that are read.
const maxWords = 1000

// Find returns the issuers that a text names, in the order of the text. It finds names with and without their legal
// form, tickers, and names with one slip.
func (d *Directory) Find(s string) []IssuerMention {
	var found []IssuerMention
	tokens := tokenize(s)
	// If a text has no capitalised word, names may be in lower case, too. A word that is all in capitals does not count
	// as capitalised here, because it may be a ticker.
	lowercase := !slices.ContainsFunc(tokens, func(t token) bool {
		return isCapitalised(s[t.start:]) && strings.ToUpper(s[t.start:t.end]) != s[t.start:t.end]
	})
	for i := 0; i < len(tokens); {
		m, n := d.nameAt(s, tokens[i:], lowercase)
		if n == 0 {
			i++
			continue
		}
		found = append(found, m)
		i += n
	}
	return found
}

// token is a word of a text with its position.
type token struct {
	key        string // the Key of the word
	start, end int    // the byte offsets of the word in the text
}

// tokenize returns the words of a text, without possessive endings, at most maxWords. "&" is a word of its own, "and".
func tokenize(s string) []token {
	var list []token
	start := -1              // of the current word, or -1 between words
	flush := func(end int) { // ends the current word, if there is one
		if start >= 0 {
			word := strings.TrimRight(s[start:end], ".'’")
			for _, possessive := range []string{"'s", "’s"} {
				word = strings.TrimSuffix(word, possessive)
			}
			if key := strings.Join(words(word), " "); key != "" && len(list) < maxWords {
				list = append(list, token{key, start, start + len(word)})
			}
		}
		start = -1
	}
	for i, r := range s {
		// Points, apostrophes and hyphens belong to the word that they follow: "S.p.A.", "Coca-Cola".
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) ||
			start >= 0 && (r == '.' || r == '\'' || r == '’' || r == '-')
		if r == '&' {
			flush(i)
			if len(list) < maxWords {
				list = append(list, token{"and", i, i + 1})
			}
			continue
		}
		switch {
		case inside && start < 0:
			start = i
		case !inside:
			flush(i)
		}
	}
	flush(len(s))
	return list
}

// nameAt returns the longest name at the beginning of tokens, which are words of the text s, and the number of words
// of the name. That number is 0 if tokens do not begin with a name. lowercase reports that the text has no
// capitalised word, so that names need not be capitalised. Whole names come first, then tickers, names with a slip,
// and heads.
func (d *Directory) nameAt(s string, tokens []token, lowercase bool) (IssuerMention, int) {
	for n := min(d.maxKeyWords, len(tokens)); n > 0; n-- {
		key := join(tokens[:n])
		if issuers := d.keys[key]; issuers != nil && d.isName(key, s, tokens, lowercase) {
			end := tokens[n-1].end
			// A legal form after the name belongs to it, as in "Wexlermere Incorporated".
			for n < len(tokens) && legalForms[tokens[n].key] && isCapitalised(s[tokens[n].start:]) {
				end = tokens[n].end
				n++
			}
			return IssuerMention{Issuers: issuers, Start: tokens[0].start, End: end}, n
		}
	}
	first := tokens[0]
	word := s[first.start:first.end]
	if issuers := d.tickers[word]; issuers != nil && !acronyms[word] &&
		(len(word) > 1 || isMarkedAsTicker(s, first.start)) {
		return IssuerMention{Issuers: issuers, Start: first.start, End: first.end}, 1
	}
	if !lowercase && !isCapitalised(word) {
		return IssuerMention{}, 0
	}
	for n := min(d.maxKeyWords, len(tokens), 4); n > 0; n-- {
		if issuers := d.nearKey(join(tokens[:n])); issuers != nil {
			return IssuerMention{Issuers: issuers, Start: first.start, End: tokens[n-1].end, Slip: true}, n
		}
	}
	if issuer := d.heads[first.key]; issuer != 0 {
		return IssuerMention{Issuers: []int64{issuer}, Start: first.start, End: first.end}, 1
	}
	if issuer := d.nearHead(first.key); issuer != 0 {
		return IssuerMention{Issuers: []int64{issuer}, Start: first.start, End: first.end, Slip: true}, 1
	}
	return IssuerMention{}, 0
}

// isName reports whether a key at the beginning of tokens is used as a name in the text s. A key that is not an
// ordinary word is always a name. Any other key must be capitalised. A key in the set ordinary must also satisfy
// isUsedAsName.
func (d *Directory) isName(key, s string, tokens []token, lowercase bool) bool {
	switch {
	case !d.words[key]:
		return true
	case ordinary[key]:
		return isUsedAsName(s, tokens[0], lowercase)
	}
	word := s[tokens[0].start:tokens[0].end]
	return lowercase || isCapitalised(word) || strings.ContainsAny(word, "0123456789")
}

// nearKey returns the issuers whose key is one slip away from key. It returns nil for a short key, and if there is no
// such key or several. A name with a slip in its first letter is not found.
func (d *Directory) nearKey(key string) (issuers []int64) {
	if len(key) < slipLetters {
		return nil
	}
	for _, known := range d.initial[key[:1]] {
		if terms.Slip(known, key) {
			if issuers != nil {
				return nil
			}
			issuers = d.keys[known]
		}
	}
	return issuers
}

// nearHead returns the issuer whose head differs from key by one slip of the keyboard. It returns 0 if key is short, or
// if no issuer or several have such a head.
func (d *Directory) nearHead(key string) (issuer int64) {
	if len(key) < headSlipLetters {
		return 0
	}
	for _, known := range d.headInitial[key[:1]] {
		if terms.Slip(known, key) {
			if issuer != 0 {
				return 0
			}
			issuer = d.heads[known]
		}
	}
	return issuer
}

// headSlipLetters is the least length of a head in which a slip is accepted.
const headSlipLetters = 8

// acronyms holds acronyms and words that are not tickers.
var acronyms = kernel.Words(`EPS ROE ROA ROIC EBIT EBITDA CEO CFO COO IPO ETF GDP CPI FY Q1 Q2 Q3 Q4 US USA UK EU SEC GAAP IFRS R&D P/E PE CAGR IT AI ALL ARE IS IN ON AT BE`)

// join returns the keys of tokens, joined by spaces.
func join(tokens []token) string {
	if len(tokens) == 1 {
		return tokens[0].key
	}
	keys := make([]string, len(tokens))
	for i, t := range tokens {
		keys[i] = t.key
	}
	return strings.Join(keys, " ")
}

// isMarkedAsTicker reports whether the word at start follows "$", "(" or ":".
func isMarkedAsTicker(s string, start int) bool {
	return start > 0 && strings.IndexByte("$(:", s[start-1]) >= 0
}

// isCapitalised reports whether the first letter of a word is in upper case.
func isCapitalised(word string) bool {
	for _, r := range word {
		return unicode.IsUpper(r)
	}
	return false
}
