package corpus

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Sizes of chunks, in tokens.
const (
	chunkFull    = 500  // the largest chunk, except tables
	chunkGood    = 350  // from this size on a heading begins a new chunk
	chunkOverlap = 60   // the part of a chunk that the next chunk repeats
	tableFull    = 1500 // a longer table is split by its rows
)

// chunkTables is how many tables of a chunk are read.
const chunkTables = 8

// chunk is a part of a document that a search finds as a unit: the blocks of a page between two headings, or a part of
// them. Outside this package a stored chunk is called a passage.
type chunk struct {
	section string // the headings above the chunk (see sections.String)
	page    int    // the number of its page, or 0
	text    string // Markdown
	tokens  int
	headers string // the captions, column headers and row labels of its tables, one per line
	tables  []*tables.Table
}

// chunks splits pages into chunks. No chunk crosses the end of a page, so that each has one page number. Headings apply
// to the following pages too.
func chunks(pages []fileformat.Page) []chunk {
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

// chunker gathers the blocks of a page into chunks. The current chunk consists of parts, until flush moves it to done.
type chunker struct {
	page         int
	above        sections // the headings above the next block
	section      string   // the section of the current chunk
	parts        []string // the blocks of the current chunk
	tokens       int      // of parts
	hasNew       bool     // the current chunk has text that the previous chunk does not have
	onlyHeadings bool     // the new text of the current chunk consists of headings
	done         []chunk
}

// add adds a block to the current chunk. It begins a new chunk if the current one is full, or if the block is a heading
// and the current chunk is long enough. A block that is too long for one chunk is divided.
func (c *chunker) add(b block) {
	if b.level > 0 {
		if c.tokens >= chunkGood {
			c.flush(false)
		}
		c.above = c.above.enter(b.level, b.text)
	}
	switch {
	case b.table && b.tokens > tableFull: // each piece of a long table is a chunk of its own
		caption := c.caption()
		for _, piece := range divideTable(b.text, caption) {
			c.flush(false)
			c.append(piece, terms.Tokens(piece))
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
	c.append(b.text, b.tokens)
	c.onlyHeadings = c.onlyHeadings && b.level > 0
}

// append appends text to the current chunk. The section of the chunk consists of the headings above its first text
// that is not itself a heading.
func (c *chunker) append(text string, tokens int) {
	if !c.hasNew || c.onlyHeadings {
		c.section = c.above.String()
		c.onlyHeadings = true // add corrects this if the text is not a heading
	}
	c.parts = append(c.parts, text)
	c.tokens += tokens
	c.hasNew = true
}

// caption returns the last paragraph before a table if it is short, and the empty string otherwise.
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

// flush ends the current chunk. If overlap is true, the next chunk begins with the end of this chunk. A chunk that only
// repeats text is dropped.
func (c *chunker) flush(overlap bool) {
	if !c.hasNew { // the parts only repeat the previous chunk
		c.parts, c.tokens = nil, 0
		return
	}
	ended := chunk{section: c.section, page: c.page, text: strings.Join(c.parts, "\n\n"), tokens: c.tokens}
	ended.tables = tables.ParseAll(ended.text, chunkTables)
	ended.headers = tableNames(ended.tables)
	c.done = append(c.done, ended)
	var repeated string
	if last := c.parts[len(c.parts)-1]; overlap && !tables.IsRow(strings.SplitN(last, "\n", 2)[0]) {
		repeated = tail(last, chunkOverlap)
	}
	c.parts, c.tokens, c.hasNew = nil, 0, false
	if repeated != "" {
		c.parts, c.tokens = []string{repeated}, terms.Tokens(repeated)
	}
}

// maxHeaders bounds the length of chunk.headers, in bytes.
const maxHeaders = 8 << 10

// tableNames returns the captions, column headers and row labels of tables, one per line and without repetitions.
func tableNames(list []*tables.Table) string {
	var b strings.Builder
	seen := make(map[string]bool)
	add := func(name string) {
		if name == "" || seen[name] || b.Len() > maxHeaders {
			return
		}
		seen[name] = true
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(name)
	}
	for _, t := range list {
		add(text.CutBytes(t.Caption, maxSection))
		add(t.Corner)
		for _, column := range t.Columns {
			add(column.Header)
		}
		for _, row := range t.Rows {
			add(row.Group)
			add(row.Label)
		}
	}
	return text.CutBytes(b.String(), maxHeaders)
}

// divideTable splits a Markdown table into tables of at most tableFull tokens. Each begins with the caption, unless it
// is empty, and the header rows, including the separator line and the line of units. Header rows longer than a third of
// tableFull are treated like other rows.
func divideTable(text, caption string) []string {
	head, body := splitHeader(text)
	prefix := strings.Join(head, "\n")
	if terms.Tokens(prefix) > tableFull/3 {
		prefix, body = "", strings.Split(text, "\n")
	}
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

// splitHeader splits a Markdown table into its header, with the separator line but without empty rows, and its other
// rows.
func splitHeader(table string) (header, body []string) {
	headerRows := tables.Parse(table).HeaderRows
	body = strings.Split(table, "\n")
	for rows := 0; len(body) > 0; body = body[1:] {
		isEmpty := strings.Trim(body[0], "|-: ") == ""
		if !isEmpty && rows == headerRows {
			break
		}
		if !isEmpty {
			rows++
		}
		if !isEmpty || strings.Contains(body[0], "---") { // the separator line has no text, but is kept
			header = append(header, body[0])
		}
	}
	return header, body
}

// bytesPerToken is about the length of a token.
const bytesPerToken = 4

// divide splits a long paragraph after sentences into pieces of at most limit tokens. A longer sentence is
// split after words, and a longer word is cut.
func divide(prose string, limit int) []string {
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
	for _, sentence := range sentences(prose) {
		n := terms.Tokens(sentence)
		if n > limit { // too long for one piece, so it is split after words
			flush()
			for word := range strings.FieldsSeq(sentence) {
				for len(word) > bytesPerToken*limit {
					head := text.CutBytes(word, bytesPerToken*limit)
					pieces = append(pieces, head)
					word = word[len(head):]
				}
				if tokens += terms.Tokens(word); tokens > limit {
					flush()
					tokens = terms.Tokens(word) // the word begins the next piece
				}
				b.WriteString(word + " ")
			}
			flush()
			continue
		}
		if tokens+n > limit {
			flush()
		}
		b.WriteString(sentence)
		tokens += n
	}
	flush()
	return pieces
}

// sentences splits a text after ". ", "! ", "? " and line ends. The concatenated parts are the text.
func sentences(text string) []string {
	var list []string
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\n' || (text[i] == '.' || text[i] == '!' || text[i] == '?') &&
			(text[i+1] == ' ' || text[i+1] == '\n') {
			list = append(list, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		list = append(list, text[start:])
	}
	return list
}

// tail returns the last sentences of a text that together have at most limit tokens. It may return the empty string.
func tail(text string, limit int) string {
	all := sentences(text)
	first, tokens := len(all), 0
	for first > 0 {
		n := terms.Tokens(all[first-1])
		if tokens+n > limit {
			break
		}
		tokens += n
		first--
	}
	return strings.TrimSpace(strings.Join(all[first:], ""))
}
