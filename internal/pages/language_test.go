package pages

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/locale/localetest"
	"github.com/tollgate-gateway/tollgate/internal/look"
)

// TestCatalogue compares the catalogue with the texts of this package and of the frame around its pages.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	texts := localetest.New()
	texts.Templates(t, builtIn, "templates/*.html")
	texts.Template(t, "look.Templates", look.Templates)
	texts.Source(t, ".", map[string]int{"f.recordFault": 0})
	texts.Variable(t, "language.go", "scriptTexts")
	texts.Variable(t, "fault.go", "headings")
	texts.Message("the board is not available right now, try again shortly")
	texts.Except(t, "A sample.") // shown only to try the templates of a brand
	german, err := catalogues.ReadFile("languages/de.json")
	if err != nil {
		t.Fatal(err)
	}
	texts.Check(t, "de", german)
}
