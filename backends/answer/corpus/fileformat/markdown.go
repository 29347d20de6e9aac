package fileformat

import (
	"context"
	"encoding/json"
	"io"
	"strings"
)

// readMarkdown reads a Markdown document. It may begin with front matter: lines of the form "name: value" between two
// lines "---", with the names of JSONL members. Without a title the first heading is the title. A form feed, or a line
// <!-- page 12 -->, begins a page.
func readMarkdown(_ context.Context, r io.Reader, base Source, out Emit) error {
	text, err := readEncoded(r)
	if err != nil {
		return err
	}
	s, text, err := frontMatter(text, base)
	if err != nil {
		return out(s, err)
	}
	if s.Title == base.Title {
		for line := range strings.SplitSeq(text, "\n") {
			if title, ok := strings.CutPrefix(line, "# "); ok {
				s.Title = strings.TrimSpace(title)
				break
			}
		}
	}
	s.Pages = pagesOf(text)
	return out(s, nil)
}

// maxFront is the largest number of lines of front matter.
const maxFront = 100

// frontMatter reads the front matter of a text. It returns base with the fields that the front matter sets, and the
// text after the front matter. Without front matter it returns its arguments.
func frontMatter(text string, base Source) (s Source, body string, err error) {
	afterFence, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return base, text, nil
	}
	head, body, ok := strings.Cut(afterFence, "\n---\n")
	if !ok || strings.Count(head, "\n") > maxFront {
		return base, text, nil
	}
	fields := make(map[string]any)
	for line := range strings.SplitSeq(head, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if name = strings.TrimSpace(name); name == "aliases" {
			list := strings.Split(strings.Trim(value, "[]"), ",")
			for i := range list {
				list[i] = strings.Trim(strings.TrimSpace(list[i]), `"'`)
			}
			fields[name] = list
			continue
		}
		fields[name] = value
	}
	// A detour over JSON, so that the fields are read like those of a description file.
	encoded, err := json.Marshal(fields)
	if err != nil {
		return base, body, err
	}
	var r record
	if err := json.Unmarshal(encoded, &r); err != nil {
		return base, body, Refuse("front matter: %v", err)
	}
	s, err = r.source(base)
	return s, body, err
}

// pagesOf splits a text into pages at form feeds and at lines such as <!-- page 12 -->. Empty pages are left out. A
// text without page breaks is one page without a number.
func pagesOf(text string) []Page {
	if !strings.Contains(text, "\f") && !strings.Contains(text, "<!-- page") {
		return []Page{{Text: text}}
	}
	var pages []Page
	var b strings.Builder
	number := 1
	flush := func() {
		if strings.TrimSpace(b.String()) != "" {
			pages = append(pages, Page{number, b.String()})
		}
		b.Reset()
	}
	for line := range strings.SplitSeq(text, "\n") {
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "<!-- page "); ok {
			flush()
			number = max(leadingNumber(comment), 1)
			continue
		}
		for {
			head, rest, ok := strings.Cut(line, "\f")
			b.WriteString(head)
			if !ok {
				break
			}
			flush()
			number++
			line = rest
		}
		b.WriteByte('\n')
	}
	flush()
	return pages
}

// leadingNumber returns the number at the beginning of a text, of at most six digits, or 0.
func leadingNumber(s string) (n int) {
	for i := 0; i < len(s) && s[i] >= '0' && s[i] <= '9' && i < 6; i++ {
		n = 10*n + int(s[i]-'0')
	}
	return n
}
