package documents

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tollgate-gateway/tollgate/docs"
)

// small is a library of few documents.
var small = fstest.MapFS{
	"README.md": {Data: []byte("# Start\n\nSee [budgets](how-to/budgets.md#set-one), [the code](../modules/budget/budget.go), " +
		"[elsewhere](https://example.com/x) and ![a picture](images/p.svg).\n")},
	"how-to/budgets.md": {Data: []byte("# Set budgets\n\nAbout *limits* of `rate_limit`.\n\n## Set one\n\nOne <b>for</b> each key.\n\n## Set one\n\n" +
		"```sh\ntollgate <run>\n```\n\n| Option | Number |\n|---|--:|\n| `window` | 1 |\n\nBack to [the start](../README.md), [above](#set-one-1), [a file](dash.json).\n")},
	"how-to/dash.json": {Data: []byte("{}")},
	"images/p.svg":     {Data: []byte("<svg/>")},
	"known.md":         {Data: []byte("# Known limits\n\nA key and its budget.\n")},
}

func library(t *testing.T, files fs.FS) *Library {
	t.Helper()
	l, err := New(Options{Files: files, Base: "/docs", Folders: []Folder{{"how-to", "How to"}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPages(t *testing.T) {
	t.Parallel()
	l := library(t, small)
	for name, contains := range map[string][]string{
		"": {
			`<h1 id="start">Start</h1>`, `<a href="/docs/how-to/budgets#set-one">budgets</a>`, ", the code, ", `<a href="https://example.com/x">`,
			`<img src="/docs/images/p.svg" alt="a picture">`,
		},
		"how-to/budgets": {
			`<h2 id="set-one">`, `<h2 id="set-one-1">`, `<a class="anchor" href="#set-one-1"`, "<pre tabindex=\"0\" data-copy><code>tollgate &lt;run&gt;\n</code></pre>",
			`<a href="/docs">the start</a>`, `<a href="#set-one-1">above</a>`, `, a file.`, `<caption class="hidden">Set one</caption>`, `<th scope="col" align="right">Number</th>`, `<td align="right">1</td>`, "</tbody>\n</table></div>",
		},
	} {
		page := l.Page(name)
		if page == nil {
			t.Fatalf("there is no page %q", name)
		}
		for _, text := range contains {
			if !strings.Contains(string(page.HTML), text) {
				t.Errorf("%q lacks %s:\n%s", name, text, page.HTML)
			}
		}
		if strings.Contains(string(page.HTML), "<b>") || strings.Contains(string(page.HTML), "style=") {
			t.Errorf("%q has HTML of its own:\n%s", name, page.HTML)
		}
	}
	for _, name := range []string{"README", "how-to", "how-to/budgets.md", "how-to/../known", "none"} {
		if l.Page(name) != nil {
			t.Errorf("there is a page %q", name)
		}
	}
	if headings := l.Page("how-to/budgets").Headings; len(headings) != 2 || headings[1].ID != "set-one-1" || headings[1].Text != "Set one" {
		t.Errorf("headings %v", headings)
	}
	var names []string
	for _, group := range l.Groups() {
		for _, page := range group.Pages {
			names = append(names, group.Title+"/"+page.Title)
		}
	}
	if !slices.Equal(names, []string{"How to/Set budgets", "More/Known limits"}) {
		t.Errorf("groups %q", names)
	}
	if picture, ok := l.Image("images/p.svg"); !ok || string(picture) != "<svg/>" {
		t.Errorf("the picture is %q", picture)
	}
	for _, name := range []string{"images/q.svg", "how-to/dash.json", "../documents/documents.go", "README.md", ""} {
		if _, ok := l.Image(name); ok {
			t.Errorf("%q is a picture", name)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	l := library(t, small)
	for query, want := range map[string][]string{
		"budgets":                        {"/docs/how-to/budgets", "/docs/how-to/budgets#set-one", "/docs/how-to/budgets#set-one-1", "/docs"},
		"bud":                            {"/docs/how-to/budgets", "/docs/known", "/docs/how-to/budgets#set-one", "/docs/how-to/budgets#set-one-1", "/docs"},
		"KEY budget":                     {"/docs/known", "/docs/how-to/budgets#set-one"},
		"budget key":                     {"/docs/known"}, // only the last word may be a beginning
		"rate_limit":                     {"/docs/how-to/budgets"},
		"limit rate":                     {"/docs/how-to/budgets"},
		"<run>":                          {"/docs/how-to/budgets#set-one-1"},
		"nothing":                        {},
		"":                               {},
		"?!-_":                           {},
		"budgets nothing":                {},
		strings.Repeat("budgets ", 1000): {"/docs/how-to/budgets", "/docs/how-to/budgets#set-one", "/docs/how-to/budgets#set-one-1", "/docs"},
	} {
		hits := l.Search(query)
		got := make([]string, 0, len(hits))
		for _, hit := range hits {
			got = append(got, hit.URL)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%.40q: %q, want %q", query, got, want)
		}
	}
	if hits := l.Search("bud"); hits[0].URL != "/docs/how-to/budgets" { // a heading counts more
		t.Errorf("the first hit is %s, want /docs/how-to/budgets", hits[0].URL)
	}
	if hits := l.Search("run"); string(hits[0].Snippet) != "tollgate &lt;<mark>run</mark>&gt; Option Number window 1 Back to the start , above , a file ." && !strings.Contains(string(hits[0].Snippet), "&lt;<mark>run</mark>&gt;") {
		t.Errorf("the snippet is %s", hits[0].Snippet)
	}
}

// TestSnippet checks that the snippet of a long text contains the word, has a limited length, and splits no characters.
func TestSnippet(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("wörter über wörter ", 100) + "needle " + strings.Repeat("und mehr ", 100), strings.Repeat("ü", 5000) + " needle " + strings.Repeat("ü", 5000), "needle", "",
	} {
		got := string(snippet(text, []string{"needle"}))
		if strings.Contains(text, "needle") != strings.Contains(got, "<mark>needle</mark>") || len(got) > snippetSize+100 || !strings.HasPrefix(strings.ToValidUTF8(got, "?"), got) {
			t.Errorf("%.30q: %q", text, got)
		}
	}
}

var linked = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// TestOwnDocuments checks that every document of the program is rendered, and that every link leads to an existing
// document, heading or image.
func TestOwnDocuments(t *testing.T) {
	t.Parallel()
	l := library(t, docs.Files)
	count := 0
	for name, page := range l.pages {
		if page.Title == name || len(page.HTML) < 100 || strings.Contains(string(page.HTML), "raw HTML omitted") {
			t.Errorf("%s has no title, no text, or raw HTML: title %q, HTML %.200s", name, page.Title, page.HTML)
		}
		for _, match := range linked.FindAllStringSubmatch(string(page.HTML), -1) {
			address, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(address, "://") || strings.HasPrefix(address, "mailto:") {
				continue
			}
			count++
			target := page
			if address != "" {
				path, ok := strings.CutPrefix(address, "/docs")
				path = strings.TrimPrefix(path, "/")
				if _, isImage := l.Image(path); isImage {
					continue
				}
				if target = l.Page(path); !ok || target == nil {
					t.Errorf("%s: the link %s leads to no document", name, match[1])
					continue
				}
			}
			if anchor != "" && !strings.Contains(string(target.HTML), ` id="`+anchor+`"`) {
				t.Errorf("%s: the link %s leads to no heading", name, match[1])
			}
		}
	}
	if len(l.pages) < 70 || count < 500 {
		t.Errorf("only %d documents with %d links", len(l.pages), count)
	}
	for query, want := range map[string]string{"backup": "how-to/back-up", "restore a backup": "how-to/back-up", "rotate keys": "how-to/rotate-keys", "rate limit": "", "prometheus": ""} {
		hits := l.Search(query)
		if len(hits) == 0 || want != "" && !slices.ContainsFunc(hits[:min(5, len(hits))], func(h Hit) bool { return h.Page.Name == want }) {
			t.Errorf("%q finds %d sections, and %s is not among the first", query, len(hits), want)
		}
	}
	for _, folder := range []string{"tutorials", "how-to", "reference", "concepts", "decisions"} {
		if !slices.ContainsFunc(l.Groups(), func(g Group) bool { return path.Dir(g.Pages[0].Name) == folder }) {
			t.Errorf("no document is in %s", folder)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	l, err := New(Options{Files: docs.Files, Base: "/docs"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Search("budget of a k")
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Options{Files: docs.Files, Base: "/docs"}); err != nil {
			b.Fatal(err)
		}
	}
}
