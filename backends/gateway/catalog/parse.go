package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Limits of a data file.
const (
	maxFileBytes = 16 << 20
	maxProviders = 200
	maxModels    = 20_000
)

// The entries of the file are the public types, with additional members for fields whose text form differs from their
// Go form.
type (
	fileEntry struct {
		Updated   string            `json:"updated"`
		Note      string            `json:"note"`
		Providers []json.RawMessage `json:"providers"`
		Models    []json.RawMessage `json:"models"`
	}
	providerEntry struct {
		Provider
		Timeouts timeoutsEntry `json:"timeouts"`
	}
	timeoutsEntry struct {
		Connect      string       `json:"connect"`
		FirstContent perTierEntry `json:"first_content"`
		Answer       perTierEntry `json:"answer"`
		Idle         string       `json:"idle"`
	}
	perTierEntry struct {
		Low    string `json:"low"`
		Medium string `json:"medium"`
		High   string `json:"high"`
	}
	modelEntry struct {
		Model
		Created    string      `json:"created"`
		Deprecated string      `json:"deprecated"`
		Retires    string      `json:"retires"`
		Price      *priceEntry `json:"price"`
	}
	ratesEntry struct {
		Input          *float64 `json:"input"`
		CachedInput    float64  `json:"cached_input"`
		CacheWrite     float64  `json:"cache_write"`
		CacheWriteHour float64  `json:"cache_write_1h"`
		Output         *float64 `json:"output"`
	}
	priceEntry struct {
		ratesEntry
		Long    *longEntry         `json:"long"`
		Factors map[string]float64 `json:"factors"`
		Calls   map[string]float64 `json:"calls"`
	}
	longEntry struct {
		Above int64 `json:"above"`
		ratesEntry
	}
)

// load reads a data file of at most 16 MB from disk and returns a stamp that identifies the version read. See Parse.
func load(path string) (*Catalog, fileStamp, error) {
	raw, stamp, err := readFile(path)
	if err != nil {
		return nil, stamp, fmt.Errorf("reading model catalog: %w", err)
	}
	c, err := Parse(raw)
	if err != nil {
		return nil, stamp, fmt.Errorf("model catalog %s: %w", path, err)
	}
	return c, stamp, nil
}

// readFile returns the content of a regular file and a stamp that identifies the version read. If the file is larger
// than maxFileBytes, readFile returns only its first maxFileBytes+1 bytes, which Parse and ParsePrices refuse.
func readFile(path string) ([]byte, fileStamp, error) {
	// Stat comes before Open, since opening a pipe would wait for its other end.
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileStamp{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, fileStamp{}, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileStamp{}, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err = f.Stat(); err != nil {
		return nil, fileStamp{}, err
	}
	stamp := stampOf(info)
	raw, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, stamp, err
	}
	return raw, stamp, nil
}

// Parse parses a data file strictly: unknown members, unknown words and values out of range are errors that name the
// entry and the member. In the result all providers are enabled except the alternates.
func Parse(raw []byte) (*Catalog, error) {
	if len(raw) > maxFileBytes {
		return nil, fmt.Errorf("larger than %d MB", maxFileBytes>>20)
	}
	var file fileEntry
	if err := decodeStrict(raw, &file); err != nil {
		return nil, err
	}
	if _, err := time.Parse(time.DateOnly, file.Updated); err != nil {
		return nil, fmt.Errorf("updated: %q is not a date such as 2026-01-31", clip(file.Updated))
	}
	if n := len(file.Providers); n == 0 || n > maxProviders {
		return nil, fmt.Errorf("providers: %d entries, need 1 to %d", n, maxProviders)
	}
	if n := len(file.Models); n > maxModels {
		return nil, fmt.Errorf("models: %d entries, at most %d", n, maxModels)
	}

	d := &data{updated: file.Updated}
	codes := make(map[string]bool, len(file.Providers))
	for i, raw := range file.Providers {
		p, err := parseProvider(raw)
		if err == nil && codes[p.Code] {
			err = errors.New("code: used twice")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", label("providers", i, raw), err)
		}
		codes[p.Code] = true
		d.providers = append(d.providers, p)
	}
	ids := make(map[modelKey]bool, len(file.Models))
	for i, raw := range file.Models {
		m, err := parseModel(raw)
		switch {
		case err != nil: // returned below
		case !codes[m.Provider]:
			err = errors.New("provider: not among the providers")
		case ids[modelKey{m.Provider, m.ID}]:
			err = errors.New("id: used twice for this provider")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", label("models", i, raw), err)
		}
		ids[modelKey{m.Provider, m.ID}] = true
		d.models = append(d.models, m)
	}
	return build(d, Options{})
}

// parseProvider parses an element of providers, sets the defaults and checks the values.
func parseProvider(raw []byte) (*Provider, error) {
	var e providerEntry
	if err := decodeStrict(raw, &e); err != nil {
		return nil, err
	}
	p := &e.Provider
	timeouts, err := e.Timeouts.parse()
	if err != nil {
		return nil, err
	}
	p.Timeouts = timeouts
	p.Auth = cmp.Or(p.Auth, AuthBearer)
	p.PreferWire = cmp.Or(p.PreferWire, WireChat)
	p.Shape.MaxTokensField = cmp.Or(p.Shape.MaxTokensField, FieldMaxTokens)
	p.Shape.EffortField = cmp.Or(p.Shape.EffortField, EffortFlat)
	return p, checkProvider(p)
}

// parse returns the timeouts of an entry. Absent timeouts are zero.
func (e timeoutsEntry) parse() (t Timeouts, err error) {
	for _, f := range []struct {
		name, text string
		target     *time.Duration
	}{
		{"connect", e.Connect, &t.Connect},
		{"first_content.low", e.FirstContent.Low, &t.FirstContent.Low},
		{"first_content.medium", e.FirstContent.Medium, &t.FirstContent.Medium},
		{"first_content.high", e.FirstContent.High, &t.FirstContent.High},
		{"answer.low", e.Answer.Low, &t.Answer.Low},
		{"answer.medium", e.Answer.Medium, &t.Answer.Medium},
		{"answer.high", e.Answer.High, &t.Answer.High},
		{"idle", e.Idle, &t.Idle},
	} {
		if f.text == "" {
			continue
		}
		if *f.target, err = time.ParseDuration(f.text); err != nil {
			return t, fmt.Errorf("timeouts.%s: %q is not a duration such as 20s", f.name, clip(f.text))
		}
	}
	return t, nil
}

// parseModel parses an element of models, sets the defaults and checks the values.
func parseModel(raw []byte) (*Model, error) {
	var e modelEntry
	if err := decodeStrict(raw, &e); err != nil {
		return nil, err
	}
	m := &e.Model
	m.Name, m.Family = cmp.Or(m.Name, m.ID), cmp.Or(m.Family, m.ID)
	if m.Modalities == nil {
		m.Modalities = []string{ModalityText}
	}
	for _, f := range []struct {
		name, text string
		target     *time.Time
	}{
		{"created", e.Created, &m.Created}, {"deprecated", e.Deprecated, &m.Deprecated}, {"retires", e.Retires, &m.Retires},
	} {
		if f.text == "" {
			continue
		}
		var err error
		if *f.target, err = time.Parse(time.DateOnly, f.text); err != nil {
			return nil, fmt.Errorf("%s: %q is not a date such as 2026-01-31", f.name, clip(f.text))
		}
	}
	if e.Price != nil {
		price, err := e.Price.parse()
		if err != nil {
			return nil, err
		}
		m.Price = price
	}
	m.entry = m.Provider + "/" + m.ID
	return m, checkModel(m)
}

// parse returns the price of an entry. Price.check must still check the values of this price.
func (e *priceEntry) parse() (Price, error) {
	rates, err := e.ratesEntry.parse("price")
	if err != nil {
		return Price{}, err
	}
	price := Price{Rates: rates, Known: true, Factors: e.Factors, Calls: e.Calls}
	if e.Long == nil {
		return price, nil
	}
	if e.Long.Above < 1 {
		return Price{}, errors.New("price.long.above: must be a number of tokens above 0")
	}
	price.LongAbove = e.Long.Above
	price.Long, err = e.Long.parse("price.long")
	return price, err
}

// parse returns the rates of an entry. It requires both input and output, since half a price would make every sum
// wrong. path is the path of the entry in the file, for errors.
func (e ratesEntry) parse(path string) (Rates, error) {
	if e.Input == nil || e.Output == nil {
		return Rates{}, fmt.Errorf("%s: must have input and output; leave the whole price out if it is unknown", path)
	}
	return Rates{
		Input: *e.Input, CachedInput: e.CachedInput, CacheWrite: e.CacheWrite, CacheWriteHour: e.CacheWriteHour,
		Output: *e.Output,
	}, nil
}

// decodeStrict decodes exactly one JSON value and allows no unknown members.
func decodeStrict(raw []byte, target any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(target); err != nil {
		return decodeError(raw, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more text after the end of the JSON value")
	}
	return nil
}

// decodeError returns an error that names the member or line with the mistake.
func decodeError(raw []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		// Mismatch.Field includes the names of embedded Go types, which are not part of the file's paths.
		field := strings.NewReplacer("Provider.", "", "Model.", "", "ratesEntry.", "").Replace(mismatch.Field)
		if field == "" {
			return fmt.Errorf("is a JSON %s but must be an object", mismatch.Value)
		}
		return fmt.Errorf("%s: is a JSON %s, which is the wrong type", clip(field), clip(mismatch.Value))
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n"))
		return fmt.Errorf("line %d is not JSON: %w", line, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("ends in the middle of the JSON value")
	}
	return errors.New(clip(strings.TrimPrefix(err.Error(), "json: ")))
}

// label describes entry i of a list for an error message. The description includes the entry's own name if the entry
// has one. listName is the name of the list.
func label(listName string, i int, raw []byte) string {
	var names struct {
		Code     string `json:"code"`
		Provider string `json:"provider"`
		ID       string `json:"id"`
	}
	_ = json.Unmarshal(raw, &names) // an entry that cannot be parsed is not named
	switch {
	case names.ID != "":
		return fmt.Sprintf("%s[%d] %q", listName, i, clip(names.Provider+"/"+names.ID))
	case names.Code != "":
		return fmt.Sprintf("%s[%d] %q", listName, i, clip(names.Code))
	}
	return fmt.Sprintf("%s[%d]", listName, i)
}
