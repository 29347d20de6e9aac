package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/internal/look"
)

// Trace is the page for operators that shows how an answer was reached. It contains its style and needs no script. Make
// it with NewTrace.
type Trace struct {
	*api.Trace
	Result     *result        // nil if the client got no result
	How        pipeline.Trace // how the answer was made; for a remembered answer, how it was made the first time
	Remembered bool           // the answer to an earlier question was sent again
	Passages   []kernel.Passage
	Gone       int // the number of passages that are no longer in the corpus, or never were
}

// result is an answer in the form that was sent to the client.
type result struct {
	Query      string
	Answer     string
	References []pipeline.Reference
	Subqueries []pipeline.Subquery
}

// NewTrace returns the page for a stored trace. It returns an error if the result or the stages in the trace are not
// valid JSON.
func NewTrace(t *api.Trace) (*Trace, error) {
	page := &Trace{Trace: t}
	if len(t.Result) > 0 {
		if err := json.Unmarshal(t.Result, &page.Result); err != nil {
			return nil, err
		}
	}
	if len(t.Trace) == 0 {
		return page, nil
	}
	memory := struct {
		Remembered bool
		First      json.RawMessage
	}{}
	if err := json.Unmarshal(t.Trace, &memory); err != nil {
		return nil, err
	}
	trace := t.Trace
	if page.Remembered = memory.Remembered; page.Remembered {
		trace = memory.First
	}
	return page, json.Unmarshal(trace, &page.How)
}

// maxPassages bounds the passages of a page.
const maxPassages = 200

// Found returns the ids of the passages that the search found, best first, without repetitions, at most maxPassages.
func (t *Trace) Found() (ids []int64) {
	seen := make(map[int64]bool)
	for _, id := range t.How.Passages {
		if !seen[id] && len(ids) < maxPassages {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// Serve writes the page with bar at its top. passages are those passages of Found that still exist. Serve sets Passages
// and Gone.
func (t *Trace) Serve(w http.ResponseWriter, bar look.Bar, passages []kernel.Passage) error {
	t.Passages, t.Gone = passages, len(t.Found())-len(passages)
	return serve(w, bar, "trace", "Trace of "+t.ID, t)
}

// serve writes a page from the template with the given name in trace.html, a title and the data of the page. The page
// contains its style, because it is also served on the administration socket, which serves no files.
func serve(w http.ResponseWriter, bar look.Bar, name, title string, data any) error {
	style := traceStyle + string(bar.Brand.Sheet())
	sum := sha256.Sum256([]byte(style))
	page := struct {
		Title string
		Style template.CSS
		Top   look.Top
		Data  any
	}{title, template.CSS(style), look.Top{Bar: bar, Part: "Answers", Home: "/admin/answer/traces", At: func(string) string { return "" }}, data} //nolint:gosec // files of the program and of the operator
	var text bytes.Buffer
	if err := tracePages.ExecuteTemplate(&text, name, page); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(text.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address contains the id of the answer
	_, _ = text.WriteTo(w)                  // an error means that the client has left
	return nil
}

// Recent writes the page that lists answers, the newest first, with bar at its top and links to their traces. more
// reports that there may be older answers, so that the page links to them.
func Recent(w http.ResponseWriter, bar look.Bar, list []api.Trace, more bool) error {
	return serve(w, bar, "recent", "Answers", struct {
		Traces []api.Trace
		More   bool
	}{list, more})
}

//go:embed trace.css
var traceSheet string

//go:embed trace.html
var traceText string

var (
	traceStyle = string(look.Files()[look.Sheet]) + traceSheet
	tracePages = template.Must(template.Must(template.New("traces").Parse(look.Templates)).Funcs(template.FuncMap{
		"pieces": pieces, "web": kernel.IsWeb, "took": took, "share": share, "next": func(i int) int { return i + 1 },
		"last": func(list []api.Trace) string { return list[len(list)-1].ID },
	}).Parse(traceText))
)

// piece is a part of the text of an answer. Mark is the number of the reference after it, or empty at the end.
type piece struct{ Text, Mark string }

// mark matches a reference in an answer: a Markdown link whose text is the number of the reference.
var mark = regexp.MustCompile(`\s*\[(\d{1,3})\]\([^)\s]*\)`)

// pieces splits an answer at its references.
func pieces(answer string) (list []piece) {
	end := 0
	for _, m := range mark.FindAllStringSubmatchIndex(answer, -1) {
		list = append(list, piece{answer[end:m[0]], answer[m[2]:m[3]]})
		end = m[1]
	}
	return append(list, piece{Text: answer[end:]})
}

// took formats a duration with about as many digits as a reader needs.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// share returns the duration d of a stage in per cent of the longest stage.
func share(stages []pipeline.Stage, d time.Duration) int {
	var longest time.Duration
	for _, s := range stages {
		longest = max(longest, s.Took)
	}
	if longest == 0 {
		return 0
	}
	return int(100 * d / longest)
}
