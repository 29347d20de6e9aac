package corpus

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Sizes of chunks, in tokens.
const (
	chunkFull    = 500  // no more than that, but for a table
	chunkGood    = 350  // a heading begins a new one from here on
	chunkOverlap = 60   // what of one is repeated in the next
	tableFull    = 1500 // a longer table is divided by its rows
)

// chunk is a part of a document that is found as one.
type chunk struct {
	section string
	page    int
	text    string
	tokens  int
	headers string // caption, columns and rows of its tables
	tables  []*tables.Table
}

// chunks divides pages. None goes over a page's end, so that it has one number.
func chunks(pages []Page) []chunk {
	var list []chunk
	var above sections
	for _, page := range pages {
		c := chunker{page: page.Number, above: above}
		for _, b := range blocks(page.Text) {
			c.add(b)
		}
		c.flush(false)
		list = append(list, c.done...)
		above = c.above
	}
	return list
}

// chunker gathers the blocks of a page.
type chunker struct {
	page    int
	above   sections
	section string // of the chunk that is gathered
	parts   []string
	tokens  int
	fresh   bool // it has more than what it repeats
	leading bool // it has headings alone
	done    []chunk
}

func (c *chunker) add(b block) {
	if b.level > 0 {
		if c.tokens >= chunkGood {
			c.flush(false)
		}
		c.above = c.above.enter(b.level, b.text)
	}
	switch {
	case b.table && b.tokens > tableFull:
		caption := c.caption()
		for _, piece := range divideTable(b.text, caption) {
			c.flush(false)
			c.put(piece, terms.Tokens(piece))
		}
		c.flush(false)
		return
	case b.tokens > chunkFull && !b.table:
		for _, piece := range divide(b.text, chunkFull-chunkOverlap) {
			c.add(block{text: piece, tokens: terms.Tokens(piece)})
		}
		return
	case c.tokens+b.tokens > chunkFull:
		c.flush(true)
	}
	c.put(b.text, b.tokens)
	c.leading = c.leading && b.level > 0
}

func (c *chunker) put(text string, tokens int) {
	if !c.fresh || c.leading {
		c.section, c.leading = c.above.String(), true
	}
	c.parts = append(c.parts, text)
	c.tokens += tokens
	c.fresh = true
}

// caption is the last line before a table, if it is short.
func (c *chunker) caption() string {
	if len(c.parts) == 0 {
		return ""
	}
	last := c.parts[len(c.parts)-1]
	if terms.Tokens(last) > chunkOverlap || tables.IsRow(last) {
		return ""
	}
	return last
}

// flush ends a chunk; overlap: the next begins with its end.
func (c *chunker) flush(overlap bool) {
	if !c.fresh {
		c.parts, c.tokens = nil, 0
		return
	}
	one := chunk{section: c.section, page: c.page, text: strings.Join(c.parts, "\n\n"), tokens: c.tokens}
	one.tables = tables.ParseAll(one.text, 8)
	one.headers = names(one.tables)
	c.done = append(c.done, one)
	var repeated string
	if last := c.parts[len(c.parts)-1]; overlap && !tables.IsRow(strings.SplitN(last, "\n", 2)[0]) {
		repeated = tail(last, chunkOverlap)
	}
	c.parts, c.tokens, c.fresh = nil, 0, false
	if repeated != "" {
		c.parts, c.tokens = []string{repeated}, terms.Tokens(repeated)
	}
}

// mostHeaders bounds the names of a chunk's tables, in bytes.
const mostHeaders = 8 << 10

// names are what tables, their columns and their rows are called.
func names(all []*tables.Table) string {
	var b strings.Builder
	seen := make(map[string]bool)
	add := func(name string) {
		if name == "" || seen[name] || b.Len() > mostHeaders {
			return
		}
		seen[name] = true
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(name)
	}
	for _, t := range all {
		add(cut(t.Caption, mostSection))
		add(t.Corner)
		for _, column := range t.Columns {
			add(column.Header)
		}
		for _, row := range t.Rows {
			add(row.Group)
			add(row.Label)
		}
	}
	return cut(b.String(), mostHeaders)
}

// divideTable makes tables of at most tableFull tokens, each with the caption and the
// header rows, its rule and the line of units among them.
func divideTable(text, caption string) []string {
	lines := strings.Split(text, "\n")
	parsed := tables.Parse(text)
	head := make([]string, 0, 8)
	body := lines
	for kept := 0; len(body) > 0 && (kept < parsed.Before || strings.Trim(body[0], "|-: ") == ""); body = body[1:] {
		if strings.Trim(body[0], "|-: ") != "" || strings.Contains(body[0], "---") {
			head = append(head, body[0])
		}
		if strings.Trim(body[0], "|-: ") != "" {
			kept++
		}
	}
	if terms.Tokens(strings.Join(head, "\n")) > tableFull/3 {
		head, body = nil, lines
	}
	prefix := strings.Join(head, "\n")
	if caption != "" {
		prefix = caption + "\n\n" + prefix
	}
	room := tableFull - terms.Tokens(prefix) - 1
	var pieces []string
	rows := make([]string, 0, len(body))
	tokens := 0
	flush := func() {
		if len(rows) > 0 {
			pieces = append(pieces, strings.TrimSpace(prefix+"\n"+strings.Join(rows, "\n")))
		}
		rows, tokens = rows[:0], 0
	}
	for _, row := range body {
		n := terms.Tokens(row) + 1
		if tokens+n > room {
			flush()
		}
		rows = append(rows, row)
		tokens += n
	}
	flush()
	return pieces
}

// divide cuts a long paragraph behind sentences, or behind words where one is longer.
func divide(text string, most int) []string {
	var pieces []string
	var b strings.Builder
	tokens := 0
	flush := func() {
		if piece := strings.TrimSpace(b.String()); piece != "" {
			pieces = append(pieces, piece)
		}
		b.Reset()
		tokens = 0
	}
	for _, sentence := range sentences(text) {
		n := terms.Tokens(sentence)
		if n > most { // no sentence; by words
			flush()
			for word := range strings.FieldsSeq(sentence) {
				for len(word) > 4*most { // no word
					head := cut(word, 4*most)
					pieces = append(pieces, head)
					word = word[len(head):]
				}
				if tokens += terms.Tokens(word); tokens > most {
					flush()
					tokens = terms.Tokens(word)
				}
				b.WriteString(word + " ")
			}
			flush()
			continue
		}
		if tokens+n > most {
			flush()
		}
		b.WriteString(sentence)
		tokens += n
	}
	flush()
	return pieces
}

// sentences divides a text behind ". ", "! ", "? " and line ends; joined they are it.
func sentences(text string) []string {
	var list []string
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\n' || (text[i] == '.' || text[i] == '!' || text[i] == '?') && (text[i+1] == ' ' || text[i+1] == '\n') {
			list = append(list, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		list = append(list, text[start:])
	}
	return list
}

// tail is the last sentences of a text, at most so many tokens.
func tail(text string, most int) string {
	all := sentences(text)
	from, tokens := len(all), 0
	for from > 0 {
		n := terms.Tokens(all[from-1])
		if tokens+n > most {
			break
		}
		tokens += n
		from--
	}
	return strings.TrimSpace(strings.Join(all[from:], ""))
}
