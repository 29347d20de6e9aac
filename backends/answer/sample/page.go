package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// page is a page of a report in Markdown: headings, paragraphs and tables, separated by blank lines.
type page struct{ strings.Builder }

func (p *page) heading(level int, text string) {
	p.WriteString(strings.Repeat("#", level) + " " + text + "\n\n")
}

func (p *page) text(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format, args...)
	p.WriteString("\n\n")
}

// table writes rows of cells. The first row is the header.
func (p *page) table(rows ...[]string) {
	for i, row := range rows {
		p.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			p.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	p.WriteString("\n")
}

// meta describes a document.
type meta struct {
	Title     string `json:"title"`
	URL       string `json:"url"`
	Kind      string `json:"kind"`
	Form      string `json:"form,omitempty"`
	Issuer    string `json:"issuer"`
	Ticker    string `json:"ticker"`
	Fiscal    string `json:"fiscal,omitempty"`
	PeriodEnd string `json:"period_end,omitempty"`
	Published string `json:"published,omitempty"`
	Pages     []text `json:"pages,omitempty"`
}

type text struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

func (m *meta) json() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(m) // never fails: a meta consists of texts and numbers
	return b.Bytes()
}

// markdown returns a document with its description in front.
func (m *meta) markdown(body string) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	for _, line := range [][2]string{
		{"title", m.Title},
		{"url", m.URL},
		{"kind", m.Kind},
		{"form", m.Form},
		{"issuer", m.Issuer},
		{"ticker", m.Ticker},
		{"fiscal", m.Fiscal},
		{"period_end", m.PeriodEnd},
		{"published", m.Published},
	} {
		if line[1] != "" {
			b.WriteString(line[0] + ": " + line[1] + "\n")
		}
	}
	b.WriteString("---\n" + body)
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

// toHTML converts a page of Markdown, as page writes it, to HTML.
func toHTML(title, body string) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" + html.EscapeString(title) +
		"</title></head>\n<body>\n")
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		switch {
		case strings.HasPrefix(block, "#"):
			marks, heading, _ := strings.Cut(block, " ")
			fmt.Fprintf(&b, "<h%d>%s</h%[1]d>\n", len(marks), html.EscapeString(heading))
		case strings.HasPrefix(block, "|"):
			b.WriteString("<table>\n")
			for i, line := range strings.Split(block, "\n") {
				if i == 1 {
					continue
				}
				tag := "td"
				if i == 0 {
					tag = "th"
				}
				b.WriteString("<tr>")
				for cell := range strings.SplitSeq(strings.Trim(line, "| "), " | ") {
					b.WriteString("<" + tag + ">" + html.EscapeString(strings.TrimSpace(cell)) + "</" + tag + ">")
				}
				b.WriteString("</tr>\n")
			}
			b.WriteString("</table>\n")
		default:
			b.WriteString("<p>" + html.EscapeString(block) + "</p>\n")
		}
	}
	b.WriteString("</body>\n</html>\n")
	return []byte(b.String())
}
