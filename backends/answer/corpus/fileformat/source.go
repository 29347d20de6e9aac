package fileformat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Bounds of a document. A document beyond them is refused, not cut.
const (
	maxPages = 5_000
	maxText  = 64 << 20 // in all pages, in bytes
	MaxTitle = 1_000    // in characters; also for names and URLs
	MaxFacts = 200_000
)

// Source is a document in the form in which readers of files return it: its description, and its contents as pages of
// text, facts or prices.
type Source struct {
	Kind   kernel.Kind // default: filing
	Form   string      // the form of a filing, such as "10-K"
	Issuer Company     // zero for a document about no issuer or several
	// Fiscal is the period that the document reports on, such as "FY2019", "2019" or "Q3 2019".
	Fiscal    string
	PeriodEnd kernel.Day
	Published time.Time
	Title     string
	URL       string // http, https, or corpus:ID
	Lang      string // the language, such as "en"
	Pages     []Page
	Facts     []kernel.Fact // facts that the document has as data, not as text; their Passage is 0
	Prices    []Price

	// Former is the default URL of the document's file, if the description file has another URL. An earlier ingest may
	// have stored the document under the default URL. Former may be empty.
	Former string `json:"-"` // not a part of Digest
}

// Company is the issuer of a source.
type Company struct {
	Name, Ticker, Exchange, CIK string
	Aliases                     []string
}

// Page is a page of a document.
type Page struct {
	Number int    // from 1; 0 for a document without pages
	Text   string // Markdown
}

// Price holds the prices of a day. Unknown ones are 0.
type Price struct {
	Day                                      kernel.Day
	Open, High, Low, Close, AdjClose, Volume float64
}

// RefusedError is the reason why a document is not accepted.
type RefusedError struct{ Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Why }

// Refuse returns a *RefusedError with a formatted reason.
func Refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// corpusID matches the URL of a document without a web address.
var corpusID = regexp.MustCompile(`^corpus:[A-Za-z0-9._~/-]{1,200}$`)

// Check normalizes and validates the fields of a source. It returns a *RefusedError for a field that is not valid.
func (s *Source) Check() error {
	// line returns a value as one line of at most MaxTitle characters. The parameter name is the name of the field.
	line := func(name, value string) (string, error) {
		value = text.Short(text.Storable(strings.ToValidUTF8(text.Normal(value), "\uFFFD")), MaxTitle)
		if !text.IsLine(value) {
			return "", Refuse("%s has control characters", name)
		}
		return value, nil
	}
	for name, field := range map[string]*string{
		"title": &s.Title, "form": &s.Form, "lang": &s.Lang, "issuer": &s.Issuer.Name, "ticker": &s.Issuer.Ticker,
		"exchange": &s.Issuer.Exchange,
	} {
		var err error
		if *field, err = line(name, *field); err != nil {
			return err
		}
	}
	if s.Kind == "" {
		s.Kind = kernel.Filing
	}
	if !slices.Contains(kernel.Kinds, s.Kind) {
		return Refuse("kind is %q, must be one of %v", text.Short(string(s.Kind), 40), kernel.Kinds)
	}
	if s.Title == "" {
		return Refuse("title is missing")
	}
	if err := checkURL(s.URL); err != nil {
		return err
	}
	s.Issuer.CIK = strings.TrimLeft(s.Issuer.CIK, "0")
	if _, err := strconv.ParseUint(s.Issuer.CIK, 10, 40); s.Issuer.CIK != "" && err != nil {
		return Refuse("cik is not a number")
	}
	if s.Issuer.Name != "" && metrics.Key(s.Issuer.Name) == "" {
		return Refuse("issuer is not a name")
	}
	if s.Issuer.Name == "" && (len(s.Facts) > 0 || len(s.Prices) > 0) {
		return Refuse("facts and prices need an issuer")
	}
	if len(s.Pages) > maxPages {
		return Refuse("more than %d pages", maxPages)
	}
	size := 0
	for i, page := range s.Pages {
		if size += len(page.Text); size > maxText {
			return Refuse("more than %d MiB of text", maxText>>20)
		}
		s.Pages[i].Text = text.Storable(strings.ToValidUTF8(text.Lines(page.Text), "\uFFFD"))
	}
	days := make(map[kernel.Day]bool, len(s.Prices))
	for _, p := range s.Prices {
		if p.Day.Time().IsZero() || days[p.Day] {
			return Refuse("the day %q of a price is not valid or occurs twice", p.Day)
		}
		days[p.Day] = true
	}
	return nil
}

// checkURL returns a *RefusedError unless a document may have the URL.
func checkURL(address string) error {
	if strings.HasPrefix(address, "corpus:") {
		if !corpusID.MatchString(address) {
			return Refuse("url %q: the part after corpus: must consist of 1 to 200 letters, digits and . _ ~ / -",
				text.Short(address, 80))
		}
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case address == "":
		return Refuse("url is missing")
	case err != nil || !kernel.IsHTTP(u) || len(address) > 2*MaxTitle || !text.IsLine(address):
		return Refuse("url %q is neither a valid http(s) URL nor corpus:ID", text.Short(address, 80))
	case u.User != nil:
		return Refuse("url must not contain a user name")
	}
	return nil
}

// Digest returns the SHA-256 of all fields except URL and Former, in hexadecimal. Documents with equal digests are
// duplicates, whatever their URLs.
func (s *Source) Digest() string {
	h := sha256.New()
	e := json.NewEncoder(h)
	withoutURL := *s
	withoutURL.URL = ""
	_ = e.Encode(withoutURL) // never fails: a hash accepts all bytes, and a Source has no cycles
	return hex.EncodeToString(h.Sum(nil))
}

// Period returns the period that the document reports on, from Fiscal and PeriodEnd. If the document states neither
// of them and is not a filing, the period is the year of its publication. Unknown fields are zero.
func (s *Source) Period() kernel.Period {
	p := kernel.Period{}
	if found := metrics.Periods(s.Fiscal); len(found) > 0 {
		p = found[0].Period
		if p.Months == 0 && p.End == "" { // a year without a length
			p.Months = 12
		}
	}
	if s.PeriodEnd != "" {
		p.End = s.PeriodEnd
	}
	if p.Year == 0 {
		p.Year = p.End.Year()
	}
	if p.Year == 0 && !s.Published.IsZero() && s.Kind != kernel.Filing {
		p.Year = s.Published.UTC().Year()
	}
	return p
}
