// Package fileformat reads the files of which a corpus is made: HTML with inline XBRL, Markdown, plain text, PDF, CSV,
// workbooks, JSON Lines, and the SEC's company facts. A reader returns each document of a file as a Source.
//
// A file has one document or, like JSON Lines and tables of prices, several. A record is the description of a document
// in JSON: a line of JSONL, a description file beside the file, or the front matter of a Markdown file. Tags are the
// figures that an issuer has marked in its HTML report in inline XBRL; a tag has a context, which is its period. The
// cover is the first page of a filing, which names the issuer and the period.
package fileformat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Emit receives a document of a file, or the error that was found in the document. If err is not nil, s has only the
// fields that are known. If Emit returns an error, the reader of the file stops and returns that error.
type Emit func(s Source, err error) error

// Format is a file format that can be read.
type Format struct {
	MaxSize int64 // the largest size of a file in bytes; 0 for a list of documents, which is read one by one
	// Read reads the documents of a file and passes each one to the function out. The parameter base has the fields
	// that are known before reading, such as the default title. Read returns an error if the file cannot be read any
	// further.
	Read func(ctx context.Context, r io.Reader, base Source, out Emit) error
}

// formats holds the formats by file extension.
var formats = map[string]*Format{
	".jsonl":    {0, readJSONL},
	".ndjson":   {0, readJSONL},
	".md":       {maxText, readMarkdown},
	".markdown": {maxText, readMarkdown},
	".html":     {maxText, ReadHTML},
	".htm":      {maxText, ReadHTML},
	".xhtml":    {maxText, ReadHTML},
	".txt":      {maxText, ReadText},
	".csv":      {maxText, readCSV},
	".json":     {maxText, readJSON},
	".pdf":      {maxPDF, readPDF},
	".xlsx":     {maxText, readWorkbook},
	".xlsm":     {maxText, readWorkbook},
}

// Extensions returns the extensions of the files that can be read, sorted.
func Extensions() []string { return slices.Sorted(maps.Keys(formats)) }

// ByExtension returns the format of files with an extension in lower case, such as ".html", or nil if they cannot be
// read.
func ByExtension(extension string) *Format { return formats[extension] }

// Of returns the format of a file by the extension of its name, or nil if it cannot be read.
func Of(name string) *Format { return ByExtension(strings.ToLower(filepath.Ext(name))) }

// MetaSuffix is the suffix of description files. The file NAME.meta.json describes the document in the file NAME. It
// contains the members of a line of JSONL except text and pages.
const MetaSuffix = ".meta.json"

// maxMeta is the largest size of a description file in bytes.
const maxMeta = 64 << 10

// ReadFile reads the documents of a file, whose format must be known, and its description file. name is the path of
// the file relative to the ingested folder. If neither base nor the description file has a URL, the URL is the one
// that nameURL returns.
func ReadFile(ctx context.Context, f File, name string, base Source, out Emit) error {
	format := Of(f.Path)
	if format.MaxSize > 0 && f.Size > format.MaxSize {
		return Refuse("the file has more than %d MiB", format.MaxSize>>20)
	}
	opened, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	if base, err = readMeta(f.Path, base); err != nil {
		return err
	}
	defaultURL := nameURL(name)
	if base.URL == "" {
		base.URL = defaultURL
	}
	if base.URL != defaultURL { // the description file may have been added after the document was ingested
		base.Former = defaultURL
	}
	if base.Title == "" {
		base.Title = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	var r io.Reader = opened
	if format.MaxSize > 0 { // the file may have grown since its size was read
		r = io.LimitReader(opened, format.MaxSize)
	}
	return format.Read(ctx, r, base, out)
}

// nameURL returns the default URL of a document: "corpus:" and the name of its file, with "-" in place of
// characters that an id may not contain.
func nameURL(name string) string {
	id := []byte(text.CutBytes(name, 200))
	for i, c := range id {
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		isDigit := c >= '0' && c <= '9'
		if !isLetter && !isDigit && c != '.' && c != '_' && c != '~' && c != '/' {
			id[i] = '-'
		}
	}
	return "corpus:" + string(id)
}

// readMeta returns base with the fields that the description file of a file sets. name is the path of the file that is
// described. Without a description file readMeta returns base.
func readMeta(name string, base Source) (Source, error) {
	opened, err := os.Open(name + MetaSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return base, nil
	}
	if err != nil {
		return base, err
	}
	defer func() { _ = opened.Close() }()
	body, err := io.ReadAll(io.LimitReader(opened, maxMeta+1))
	if err == nil && len(body) > maxMeta {
		err = fmt.Errorf("%s has more than %d KiB", name+MetaSuffix, maxMeta>>10)
	}
	if err != nil {
		return base, err
	}
	var r record
	if err := json.Unmarshal([]byte(decoded(body)), &r); err != nil {
		return base, Refuse("%s: %v", filepath.Base(name)+MetaSuffix, err)
	}
	return r.source(base)
}

// record is the description of a document in a line of JSONL, a description file or front matter. The members of
// Issuer, if it is an object, and the members Ticker, Exchange, CIK and Aliases describe the same company.
type record struct {
	Title     string          `json:"title"`
	URL       string          `json:"url"`
	Kind      string          `json:"kind"`
	Form      string          `json:"form"`
	Issuer    json.RawMessage `json:"issuer"` // a name or an object
	Ticker    string          `json:"ticker"`
	Exchange  string          `json:"exchange"`
	CIK       json.RawMessage `json:"cik"` // a number or a string
	Aliases   []string        `json:"aliases"`
	Fiscal    json.RawMessage `json:"fiscal"` // a string or a year
	PeriodEnd string          `json:"period_end"`
	Published string          `json:"published"`
	Lang      string          `json:"lang"`
	Text      string          `json:"text"`
	Pages     json.RawMessage `json:"pages"` // strings, or objects with number and text
}

// source returns base with the fields that the record sets, except the pages.
func (r *record) source(base Source) (Source, error) {
	s := base
	company := struct {
		Name     string          `json:"name"`
		Ticker   string          `json:"ticker"`
		Exchange string          `json:"exchange"`
		CIK      json.RawMessage `json:"cik"`
		Aliases  []string        `json:"aliases"`
	}{Ticker: r.Ticker, Exchange: r.Exchange, CIK: r.CIK, Aliases: r.Aliases}
	if len(r.Issuer) > 0 && r.Issuer[0] == '{' {
		if err := json.Unmarshal(r.Issuer, &company); err != nil {
			return s, Refuse("issuer: %v", err)
		}
	} else {
		name, err := scalar(r.Issuer)
		if err != nil {
			return s, Refuse("issuer is neither a string nor an object")
		}
		company.Name = name
	}
	cik, err := scalar(company.CIK)
	if err != nil {
		return s, Refuse("cik is neither a string nor a number")
	}
	fiscal, err := scalar(r.Fiscal)
	if err != nil {
		return s, Refuse("fiscal is neither a string nor a year")
	}
	if len(company.Aliases) > maxAliases {
		return s, Refuse("more than %d aliases", maxAliases)
	}
	s.Title, s.URL = cmp.Or(r.Title, s.Title), cmp.Or(r.URL, s.URL)
	s.Kind, s.Form = cmp.Or(kernel.Kind(r.Kind), s.Kind), cmp.Or(r.Form, s.Form)
	s.Lang, s.Fiscal = cmp.Or(r.Lang, s.Lang), cmp.Or(fiscal, s.Fiscal)
	s.Issuer.Name, s.Issuer.CIK = cmp.Or(company.Name, s.Issuer.Name), cmp.Or(cik, s.Issuer.CIK)
	s.Issuer.Ticker = cmp.Or(company.Ticker, s.Issuer.Ticker)
	s.Issuer.Exchange = cmp.Or(company.Exchange, s.Issuer.Exchange)
	if len(company.Aliases) > 0 {
		s.Issuer.Aliases = company.Aliases
	}
	if r.PeriodEnd != "" {
		day, ok := kernel.ParseDay(r.PeriodEnd)
		if !ok {
			return s, Refuse("period_end %q is not YYYY-MM-DD", text.CutBytes(r.PeriodEnd, 40))
		}
		s.PeriodEnd = day
	}
	if r.Published != "" {
		published, err := parseTime(r.Published)
		if err != nil {
			return s, Refuse("published %q is neither YYYY-MM-DD nor an RFC 3339 time", text.CutBytes(r.Published, 40))
		}
		s.Published = published
	}
	return s, nil
}

// maxAliases bounds the other names of an issuer in one document.
const maxAliases = 50

// parseTime parses a time in the form of RFC 3339, or a day, which stands for the beginning of that day in UTC.
func parseTime(value string) (time.Time, error) {
	if day, ok := kernel.ParseDay(value); ok {
		return day.Time(), nil
	}
	return time.Parse(time.RFC3339, value)
}

// scalar returns a JSON string or number as text. It returns the empty string for null and for an empty raw.
func scalar(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var n json.Number
	err := json.Unmarshal(raw, &n)
	return n.String(), err
}

// File is a file of a known format.
type File struct {
	Path     string
	Size     int64 // in bytes
	Modified time.Time
}
