package filings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Many makes three reports per issuer, each with ManyPages pages of about two passages.
const (
	ManyPages    = 250
	ManyPassages = 3 * 2 * ManyPages // about the number of passages of an issuer
	manyYear     = 2017              // the fiscal year of the first report
)

// Many writes the reports of a number of issuers into a folder, to measure the search in a large corpus. Their pages
// are the excerpts, with different figures in each report. first is the number of the first issuer.
func Many(folder string, first, issuers int) error {
	excerpts, _, err := Load()
	if err != nil {
		return err
	}
	for issuer := first; issuer < first+issuers; issuer++ {
		name := ManyName(issuer)
		for year := manyYear; year < manyYear+3; year++ {
			var text strings.Builder
			fmt.Fprintf(&text, "---\ntitle: %[1]s annual report %[2]d\nissuer: %[1]s Inc.\nfiscal: FY%[2]d\nurl: https://a.example/%[1]s/%[2]d\n---\n", name, year)
			for page := range ManyPages {
				e := excerpts[(issuer*31+year*17+page)%len(excerpts)]
				body := strings.ReplaceAll(e.Text, e.Issuer, name)
				fmt.Fprintf(&text, "<!-- page %d -->\n%s\n",
					page+1, strings.ReplaceAll(body, ",", fmt.Sprint(",", (issuer+page)%10)))
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d-%d.md", issuer, year)), []byte(text.String()),
				0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// ManyName returns the name of the n-th issuer of Many.
func ManyName(n int) string {
	name := []byte("aaaa")
	for i := len(name) - 1; i >= 0; i-- {
		name[i] = byte('a' + n%26)
		n /= 26
	}
	return "Issuer" + string(name)
}

// Ask returns a question about an issuer of Many. It takes the question that n selects from questions, and replaces
// the name of the excerpt's issuer in it by the name of the issuer of Many.
func Ask(questions []Question, n, issuer int) string {
	q := questions[(7*n)%len(questions)]
	return strings.ReplaceAll(q.Query, q.Issuer, ManyName(issuer))
}
