package answer

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAnswersWatched checks that questions are answered from a file in the watched folder and from a file that replaces
// it, and not from a file that was removed.
func TestAnswersWatched(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, quick+"\t\twatch filings {\n\t\t\tevery 1s\n\t\t\tremove\n\t\t}\n")
		const (
			query   = "What was the revenue of Ardmore Holdings in fiscal 2025?"
			address = "https://filings.example.test/ardmore"
		)
		file := d.Path("filings", "below", "ardmore.md")
		drop := func(revenue string) {
			t.Helper()
			text := "---\ntitle: Ardmore Holdings annual report 2025\nurl: " + address + "\nkind: filing\nissuer: Ardmore Holdings\nfiscal: FY2025\n---\n" +
				"Ardmore Holdings reported revenue of " + revenue + " million in fiscal 2025.\n"
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		becomes := func(want, text string) {
			t.Helper()
			e2e.Eventually(t, e2e.WaitLimit, want+" "+text, func() error {
				if a := d.ask(query); outcome(a) != want || !strings.Contains(a.Body, text) {
					return fmt.Errorf("%d %s", a.Status, a.Body)
				}
				return nil
			})
		}
		becomes("FailedToAnswer", "")
		drop("$5.5")
		if err := os.WriteFile(d.Path("filings", "other.md"), []byte("# Another\n\nA text of no issuer.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		becomes("Answered", "$5.5 million")
		drop("$65.25")
		becomes("Answered", "$65.25 million")

		shown := d.Tool("answer", "corpus", "show", "--json", address)
		routed, err := d.Admin(http.MethodGet, "/admin/answer/corpus/documents?url="+url.QueryEscape(address), "", "")
		for _, text := range []string{shown, routed} {
			if g := gjson.Parse(text); err != nil || g.Get("issuer").Str != "Ardmore Holdings" || g.Get("passages").Int() != 1 || g.Get("url").Str != address {
				t.Errorf("%s %v", text, err)
			}
		}
		if text, err := d.Admin(http.MethodGet, "/admin/answer/corpus/documents?url=corpus:none", "", ""); err == nil {
			t.Errorf("%s", text)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		becomes("FailedToAnswer", "")
		d.Stop()
	})
}
