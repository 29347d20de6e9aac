package pages

import (
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// NewBrandedLook works like NewLook with an additional folder of the operator, which has the same two subfolders. Its
// templates and files replace those with the same names. Its parts replace the blocks that they define, and its
// static/name.css follows the other style sheets. languages are passed to Look.In. To find faults, each page is
// rendered once, with its data in samples and with site as Call.Site. An error names the file and the line.
func NewBrandedLook(
	name string, files fs.FS, funcs template.FuncMap, folder fs.FS, languages *locale.Languages, site any,
	samples map[string]any,
) (*Look, error) {
	refusal := &apierror.Error{Status: http.StatusTooManyRequests, Message: "A sample.", RetryAfter: time.Minute}
	samples = maps.Clone(samples)
	samples["error"] = faultOf(refusal, nil)
	for _, file := range glob(folder, "templates/*.html") {
		if _, known := samples[pageOf(file)]; !known && !isParts(file) {
			return nil, fmt.Errorf("%s: there is no such page; there are %s",
				file, strings.Join(slices.Sorted(maps.Keys(samples)), ", "))
		}
	}
	l, err := newLook(name, funcs, builtIn, files, folder)
	if err != nil {
		return nil, err
	}
	l = l.In(languages)
	for _, page := range slices.Sorted(maps.Keys(samples)) {
		if err := l.tryPage(page, site, samples[page]); err != nil {
			return nil, fmt.Errorf("templates/%s.html: %w", page, err)
		}
	}
	language := languages.Choose()
	t, err := l.bareIn(language)
	if err != nil {
		return nil, err
	}
	return l, t.ExecuteTemplate(io.Discard, "bare", l.bareOf(language, "", look.Bar{}, refusal))
}

// tryPage renders a page with callSite as Call.Site and with data, and discards the result.
func (l *Look) tryPage(page string, callSite, data any) error {
	r, err := http.NewRequest(http.MethodGet, "/", http.NoBody) //nolint:noctx // it goes nowhere
	if err != nil {
		return err
	}
	c := newCall(&site{
		look: l, bar: func(*http.Request) look.Bar { return look.Bar{} },
		tokenField: "token", signer: func() signed.Signer { return signed.Signer{} },
	}, nowhere{}, r)
	c.Site, c.Name = callSite, "Sample"
	problem := []apierror.Detail{{Field: "field", Message: "A sample."}}
	return c.show(http.StatusOK, page, "Sample", data, problem)
}

// nowhere is a response writer that discards a page.
type nowhere struct{}

func (nowhere) Header() http.Header                { return make(http.Header) }
func (nowhere) Write(page []byte) (n int, _ error) { return len(page), nil }
func (nowhere) WriteHeader(int)                    {}
