package moving

import (
	"cmp"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
)

// Limits for the XML of a post. A text beyond the limits loses its tags and keeps the rest.
const (
	maxXML      = 4 << 20 // bytes
	maxXMLDepth = 100     // elements within elements
	maxMarks    = 8       // marks of quotations before a line
)

// flarumText converts a text that Flarum has stored to Markdown. Flarum stores XML around the typed text, which is
// Markdown or BBCode, so only BBCode tags, mentions and files are converted. file returns the Markdown of a file by its
// id, or an empty string if the file is not imported.
func flarumText(source string, file func(id string) string) string {
	w := flarumWriter{file: file}
	if len(source) > maxXML || w.write(xml.NewDecoder(strings.NewReader(source))) != nil {
		return html.UnescapeString(xmlTag.ReplaceAllString(source, ""))
	}
	return strings.TrimSpace(w.out.String())
}

// flarumWriter converts the XML of a text to Markdown.
type flarumWriter struct {
	file       func(id string) string // returns the Markdown of a file, or an empty string
	out        strings.Builder
	open       []flarumElement // the open elements, the innermost last
	quotes     int             // how many quotations are open
	code       int             // how many elements with code are open
	afterQuote bool            // a quotation has just ended
}

// flarumElement is an open element.
type flarumElement struct {
	name   string
	attrs  map[string]string
	bbcode bool // the element was written as BBCode
	silent bool // the element's content is skipped
}

// flarumMarks maps the elements of BBCode to the Markdown at their beginning and end. The marks of other elements are
// left out.
var flarumMarks = map[string][2]string{
	"B": {"**", "**"}, "I": {"*", "*"}, "S": {"~~", "~~"}, "STRONG": {"**", "**"}, "EM": {"*", "*"}, "DEL": {"~~", "~~"},
	"CODE": {"\n```\n", "\n```\n"}, "LI": {"- ", ""}, "LIST": {"\n", "\n"}, "QUOTE": {"\n", ""},
}

// bbcodeMark matches the beginning of a BBCode tag, but not the bracket of a link in Markdown.
var bbcodeMark = regexp.MustCompile(`^\[[A-Za-z*]`)

// write converts all elements and texts from d. It returns an error for invalid XML.
func (w *flarumWriter) write(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(w.open) == maxXMLDepth {
				return errors.New("the elements are nested too deeply")
			}
			w.begin(t)
		case xml.EndElement:
			w.end()
		case xml.CharData:
			if len(w.open) > 0 {
				w.text(string(t))
			}
		}
	}
}

// begin opens an element. A mention or file is written at once, and the element's content is skipped.
func (w *flarumWriter) begin(t xml.StartElement) {
	e := flarumElement{name: t.Name.Local, attrs: make(map[string]string, len(t.Attr))}
	for _, a := range t.Attr {
		e.attrs[a.Name.Local] = a.Value
	}
	replacement := "" // the Markdown for the whole element, if it is not empty
	switch {
	case len(w.open) > 0 && w.open[len(w.open)-1].silent:
		e.silent = true
	case strings.HasSuffix(e.name, "MENTION") && e.attrs["displayname"] != "":
		replacement = "@" + e.attrs["displayname"]
	case strings.HasPrefix(e.name, "UPL-"):
		replacement = cmp.Or(w.file(e.attrs["uuid"]), e.attrs["url"])
	case e.name == "CODE" || e.name == "C":
		w.code++
	}
	if replacement != "" {
		w.put(replacement)
		e.silent = true
	}
	w.open = append(w.open, e)
}

// text writes a text in the innermost element. An element contains its typed marks as elements of their own: s is the
// mark at its beginning, e is the mark at its end, and i is any other mark that is not shown. Marks that are BBCode
// tags become Markdown.
func (w *flarumWriter) text(text string) {
	e := &w.open[len(w.open)-1]
	isMark := e.name == "s" || e.name == "e" || e.name == "i"
	var parent *flarumElement
	if isMark && len(w.open) > 1 {
		parent = &w.open[len(w.open)-2]
	}
	switch {
	case e.silent:
		// The content of the element is skipped.
	case parent != nil && e.name == "s" && bbcodeMark.MatchString(text):
		parent.bbcode = true
		w.beginBBCode(parent)
	case parent != nil && e.name == "e" && parent.bbcode:
		// The method end writes the end of the element.
	case isMark || w.code > 0 || e.name == "ESC":
		w.put(text)
	default:
		w.put(strings.ReplaceAll(text, "<", `\<`))
	}
}

// beginBBCode writes the Markdown for the beginning of an element that was written as BBCode.
func (w *flarumWriter) beginBBCode(e *flarumElement) {
	if e.name == "QUOTE" {
		w.quotes++
	}
	w.put(flarumMarks[e.name][0])
	switch author := e.attrs["author"]; {
	case e.name == "QUOTE" && author != "":
		w.put("**" + fileLabel(author) + ":**\n\n")
	case e.name == "URL":
		w.put("[")
	case e.name == "IMG":
		w.put("![](" + bracketed(e.attrs["src"]) + ")")
		e.silent = true
	}
}

// end closes the innermost element.
func (w *flarumWriter) end() {
	e := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if e.bbcode {
		if e.name == "QUOTE" {
			w.quotes--
			w.afterQuote = true
		}
		w.put(flarumMarks[e.name][1])
		if e.name == "URL" {
			w.put("](" + bracketed(e.attrs["url"]) + ")")
		}
	}
	if !e.silent && (e.name == "CODE" || e.name == "C") {
		w.code--
	}
}

// put writes text, with the marks of all open quotations before each line.
func (w *flarumWriter) put(text string) {
	if w.afterQuote && text != "" {
		text = "\n\n" + strings.TrimLeft(text, "\n") // otherwise the text would continue the quotation
		w.afterQuote = false
	}
	lineStart := "\n" + strings.Repeat("> ", min(w.quotes, maxMarks))
	_, _ = w.out.WriteString(strings.ReplaceAll(text, "\n", lineStart)) // never fails
}
