package fileformat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// maxLine bounds the length of a line of JSONL, in bytes.
const maxLine = 128 << 20

// readJSONL reads one document per line: {title, url, kind, issuer, fiscal, text}. In place of text a line may have
// pages, which are strings or objects {number, text}. A faulty line is reported and skipped; a line longer than maxLine
// ends the reading.
func readJSONL(ctx context.Context, r io.Reader, base Source, out Emit) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	n := 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := readLine(lines)
		if n == 0 {
			line = bytes.TrimPrefix(line, []byte(markUTF8))
		}
		if n++; len(bytes.TrimSpace(line)) > 0 {
			defaults := base
			defaults.URL += "/" + strconv.Itoa(n) // for a line without a URL
			s, lineErr := parseLine(line, defaults)
			if lineErr != nil {
				lineErr = Refuse("line %d: %v", n, lineErr)
			}
			if err := out(s, lineErr); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			return Refuse("line %d has more than %d MiB", n, maxLine>>20)
		case err != nil:
			return err
		}
	}
}

// errLong is returned for a line longer than maxLine.
var errLong = errors.New("a line is too long")

// readLine reads a line including its line end. It returns the last line, which may be empty, together with io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxLine:
			return nil, errLong
		}
	}
}

// parseLine returns base with the fields and pages of a line of JSONL.
func parseLine(line []byte, base Source) (Source, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return base, err
	}
	s, err := r.source(base)
	if err != nil {
		return s, err
	}
	s.Pages, err = r.pages()
	return s, err
}

// pages returns the pages of a record. A text without pages is one page without a number.
func (r *record) pages() ([]Page, error) {
	raw := bytes.TrimSpace(r.Pages)
	if len(raw) == 0 || string(raw) == "null" {
		if r.Text == "" {
			return nil, Refuse("text and pages are missing")
		}
		return []Page{{Text: columnsToTables(r.Text)}}, nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, Refuse("pages is not an array")
	}
	if len(all) > maxPages {
		return nil, Refuse("more than %d pages", maxPages)
	}
	pages := make([]Page, 0, len(all))
	for i, raw := range all {
		page := struct {
			Number int    `json:"number"`
			Page   int    `json:"page"`
			Text   string `json:"text"`
		}{}
		if len(raw) > 0 && raw[0] == '"' {
			if err := json.Unmarshal(raw, &page.Text); err != nil {
				return nil, Refuse("page %d: %v", i+1, err)
			}
		} else if err := json.Unmarshal(raw, &page); err != nil {
			return nil, Refuse("page %d is neither a string nor an object with number and text", i+1)
		}
		number := max(page.Number, page.Page)
		if number <= 0 {
			number = i + 1
		}
		pages = append(pages, Page{number, columnsToTables(page.Text)})
	}
	return pages, nil
}
