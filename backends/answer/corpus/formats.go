package corpus

import (
	"bytes"
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
)

// emit receives a document of a file, or the error that was found in the document. If it returns an error, the reader
// stops.
type emit func(s Source, err error) error

// format reads files of one format. base has the fields of their documents that are known before reading.
type format struct {
	maxSize int64 // the largest size of a file in bytes; 0 for a format that is read in parts
	read    func(ctx context.Context, r io.Reader, base Source, out emit) error
}

var formats = map[string]*format{
	".jsonl":    {0, readJSONL},
	".ndjson":   {0, readJSONL},
	".md":       {maxText, readMarkdown},
	".markdown": {maxText, readMarkdown},
	".html":     {maxText, readHTML},
	".htm":      {maxText, readHTML},
	".xhtml":    {maxText, readHTML},
	".txt":      {maxText, readText},
	".csv":      {maxText, readCSV},
	".json":     {maxText, readJSON},
	".pdf":      {maxPDF, readPDF},
	".xlsx":     {maxText, readWorkbook},
	".xlsm":     {maxText, readWorkbook},
}

// Formats returns the extensions of the files that can be read, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

func formatOf(name string) *format { return formats[strings.ToLower(filepath.Ext(name))] }

// metaSuffix is the suffix of a description file. It describes the document in the file beside it whose name it has
// without the suffix. It contains the members of a line of JSONL except text and pages.
const metaSuffix = ".meta.json"

const maxMeta = 64 << 10

// readFile reads a file with the reader for its extension. The default URL of a document is that of nameURL.
func readFile(ctx context.Context, f file, name string, base Source, out emit) error {
	format := formatOf(f.path)
	if format.maxSize > 0 && f.size > format.maxSize {
		return refuse("the file has more than %d MiB", format.maxSize>>20)
	}
	opened, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	if base, err = readMeta(f.path, base); err != nil {
		return err
	}
	if base.former = nameURL(name); base.URL == "" || base.URL == base.former {
		base.URL, base.former = base.former, ""
	}
	if base.Title == "" {
		base.Title = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	var r io.Reader = opened
	if format.maxSize > 0 {
		r = io.LimitReader(opened, format.maxSize)
	}
	return format.read(ctx, r, base, out)
}

// nameURL returns the default URL of a document: "corpus:" and the name of its file, with "-" in place of
// characters that an id may not contain.
func nameURL(name string) string {
	id := []byte(cut(name, 200))
	for i, c := range id {
		if c != '.' && c != '_' && c != '~' && c != '/' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			id[i] = '-'
		}
	}
	return "corpus:" + string(id)
}

// readMeta returns base with the fields of the description file of the file name. Without a description file it returns
// base.
func readMeta(name string, base Source) (Source, error) {
	opened, err := os.Open(name + metaSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return base, nil
	}
	if err != nil {
		return base, err
	}
	defer func() { _ = opened.Close() }()
	body, err := io.ReadAll(io.LimitReader(opened, maxMeta+1))
	if err == nil && len(body) > maxMeta {
		err = fmt.Errorf("%s has more than %d KiB", name+metaSuffix, maxMeta>>10)
	}
	if err != nil {
		return base, err
	}
	var r record
	if err := json.Unmarshal([]byte(decoded(body)), &r); err != nil {
		return base, refuse("%s: %v", filepath.Base(name)+metaSuffix, err)
	}
	return r.source(base)
}

// record is a document in JSON.
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

// source returns base with the fields that the record sets.
func (r *record) source(base Source) (Source, error) {
	s := base
	set := func(field *string, value string) {
		if value != "" {
			*field = value
		}
	}
	company := struct {
		Name     string          `json:"name"`
		Ticker   string          `json:"ticker"`
		Exchange string          `json:"exchange"`
		CIK      json.RawMessage `json:"cik"`
		Aliases  []string        `json:"aliases"`
	}{Ticker: r.Ticker, Exchange: r.Exchange, CIK: r.CIK, Aliases: r.Aliases}
	if len(r.Issuer) > 0 && r.Issuer[0] == '{' {
		if err := json.Unmarshal(r.Issuer, &company); err != nil {
			return s, refuse("issuer: %v", err)
		}
	} else {
		name, err := scalar(r.Issuer)
		if err != nil {
			return s, refuse("issuer is neither text nor an object")
		}
		company.Name = name
	}
	cik, err := scalar(company.CIK)
	if err != nil {
		return s, refuse("cik is neither text nor a number")
	}
	fiscal, err := scalar(r.Fiscal)
	if err != nil {
		return s, refuse("fiscal is neither text nor a year")
	}
	if len(company.Aliases) > maxAliases {
		return s, refuse("more than %d aliases", maxAliases)
	}
	set(&s.Title, r.Title)
	set(&s.URL, r.URL)
	set((*string)(&s.Kind), r.Kind)
	set(&s.Form, r.Form)
	set(&s.Lang, r.Lang)
	set(&s.Fiscal, fiscal)
	set(&s.Issuer.Name, company.Name)
	set(&s.Issuer.Ticker, company.Ticker)
	set(&s.Issuer.Exchange, company.Exchange)
	set(&s.Issuer.CIK, cik)
	if len(company.Aliases) > 0 {
		s.Issuer.Aliases = company.Aliases
	}
	if r.PeriodEnd != "" {
		day, ok := kernel.ParseDay(r.PeriodEnd)
		if !ok {
			return s, refuse("period_end %q is not YYYY-MM-DD", cut(r.PeriodEnd, 40))
		}
		s.PeriodEnd = day
	}
	if r.Published != "" {
		published, err := parseTime(r.Published)
		if err != nil {
			return s, refuse("published %q is neither YYYY-MM-DD nor a time of RFC 3339", cut(r.Published, 40))
		}
		s.Published = published
	}
	return s, nil
}

const maxAliases = 50

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
