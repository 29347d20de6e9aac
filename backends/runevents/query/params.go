package query

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
)

// Names of parameters, separated by spaces.
const (
	paging    = "limit offset order_by include_total"
	distincts = "distinct_resources distinct_start_time distinct_end_time"
	counting  = "summarize_by count_by counts_filter"
	// inert lists parameters that do not change the rows of an answer. The parameter pretty changes only the white space.
	inert = "pretty optimize_drop_unused_joins origin include_facts_expiration"
	// jolokia lists parameters that do not change the answers for beans.
	jolokia = "maxDepth maxCollectionSize maxObjects ignoreErrors includeStackTrace serializeException canonicalNaming mimeType"
)

// otherEntities is the key in allowedParams for all entities without an entry of their own.
const otherEntities = "rows"

// allowedParams maps the endpoints to their parameters. A key is an entity as in Serve, or otherEntities. The empty
// name means the root endpoint.
var allowedParams = map[string][]string{
	"events":                 strings.Fields("query " + paging + " " + distincts + " " + inert),
	"event-counts":           strings.Fields("query " + paging + " " + distincts + " " + counting + " " + inert),
	"aggregate-event-counts": strings.Fields("query " + distincts + " " + counting + " " + inert),
	"logs":                   strings.Fields(inert),
	"metrics":                strings.Fields(inert),
	"node":                   strings.Fields(inert),
	"environment":            strings.Fields(inert),
	"producer":               strings.Fields(inert),
	"catalog":                strings.Fields(inert),
	"mbeans":                 strings.Fields(inert + " " + jolokia),
	"mbean":                  strings.Fields(inert + " " + jolokia),
	"fact-names":             strings.Fields(paging + " " + inert),
	"":                       strings.Fields("query " + paging + " ast_only " + inert),
	otherEntities:            strings.Fields("query " + paging + " " + inert),
}

// params are the parameters of a request, from the URL or a JSON body. The values from a URL are strings.
type params map[string]*syntax.Value

// readParams reads the parameters of a request for an entity. It returns an error for a parameter that allowedParams
// does not list, and for a parameter that occurs more than once.
func readParams(r *http.Request, entity string) (params, error) {
	names, ok := allowedParams[entity]
	if !ok {
		names = allowedParams[otherEntities]
	}
	p := make(params)
	if len(r.URL.RawQuery) > syntax.MaxBytes {
		return nil, refuse("the query string is longer than %d bytes", syntax.MaxBytes)
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		escapedKey, escapedText, _ := strings.Cut(pair, "=")
		key, keyErr := url.QueryUnescape(escapedKey)
		text, textErr := url.QueryUnescape(escapedText)
		if keyErr != nil || textErr != nil {
			return nil, refuse("the query string holds a %% that begins no escape")
		}
		if err := p.add(names, key, syntax.TextValue(text)); err != nil {
			return nil, err
		}
		if !utf8.ValidString(text) {
			return nil, refuse("Query parameter '%s' is not UTF-8", key)
		}
	}
	if r.Method != http.MethodPost {
		return p, nil
	}
	return p, p.readBody(r, names)
}

// add adds the parameter key with the value v. It returns an error if key is not in allowed, the list of allowed
// parameters, or if p contains key already.
func (p params) add(allowed []string, key string, v *syntax.Value) error {
	if !slices.Contains(allowed, key) {
		return refuse("Unsupported query parameter '%s'", syntax.Clip(key))
	}
	if _, repeated := p[key]; repeated {
		return refuse("Query parameter '%s' is given more than once", key)
	}
	p[key] = v
	return nil
}

// bodyTooLong returns the error for a body of more than syntax.MaxBytes.
func bodyTooLong() error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Text: "the body is longer than " +
		strconv.Itoa(syntax.MaxBytes) + " bytes"}
}

// readBody adds the parameters in the JSON body of a request to p. allowed lists the allowed parameters. An empty
// body has no parameters.
func (p params) readBody(r *http.Request, allowed []string) error {
	if r.ContentLength > syntax.MaxBytes {
		return bodyTooLong()
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, syntax.MaxBytes+1))
	if inbound.TooSlow(err) {
		return &Error{Status: http.StatusRequestTimeout, Text: "the body took too long to arrive"}
	}
	if err != nil {
		return refuse("the body could not be read")
	}
	if len(raw) > syntax.MaxBytes {
		return bodyTooLong()
	}
	if contentType := r.Header.Get("Content-Type"); len(raw) > 0 || contentType != "" {
		mediaType, _, err := mime.ParseMediaType(contentType)
		if err != nil {
			mediaType = contentType
		}
		if err != nil || mediaType != "application/json" {
			return &Error{
				Status: http.StatusUnsupportedMediaType,
				Text:   "content type " + syntax.Clip(mediaType) + " not supported",
			}
		}
	}
	if !utf8.Valid(raw) {
		return refuse("the body is not UTF-8")
	}
	body, err := parseJSON(string(raw))
	if err != nil || body == nil || body.Kind == syntax.Null {
		return err
	}
	if body.Kind != syntax.Object {
		return refuse("the body must be a JSON object with the parameters as its keys")
	}
	for _, m := range body.Members {
		if m.Key == "order_by" && m.Value.IsText() {
			return refuse("Illegal value '%s' for :order_by; expected an array of maps.", m.Value.Plain())
		}
		if err := p.add(allowed, m.Key, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// parsePQL parses a query in PQL and translates it to the JSON language. An error is an *Error with status 400.
func parsePQL(text string) (*syntax.Value, error) {
	v, err := syntax.PQL(text)
	if err != nil {
		return nil, refuse("%s", err)
	}
	return v, nil
}

// parseJSON parses JSON from the client. It returns nil for a blank text. A syntax error is returned as an *Error with
// status 400, whose text shows its position.
func parseJSON(text string) (*syntax.Value, error) {
	v, err := syntax.JSON(text, syntax.QueryLimits)
	if syntaxError, ok := errors.AsType[*syntax.JSONError](err); ok {
		return nil, refuse("%s", syntaxError.Describe(text))
	}
	return v, err
}

// query returns the parameter "query" in the JSON language, or nil if it is missing, which selects all rows.
func (p params) query() (*syntax.Value, error) {
	v := p["query"]
	if v == nil {
		return nil, nil // no query is a query for everything
	}
	if v.IsText() {
		var err error
		if v, err = parseJSON(v.Text); err != nil {
			return nil, err
		}
	}
	if v != nil && v.Kind != syntax.List && v.Kind != syntax.Null {
		return nil, refuse("the query must be a JSON array, not %s", v.Notation())
	}
	return v, nil
}

// flag reports whether the parameter with the given name is true.
func (p params) flag(name string) bool {
	v := p[name]
	return v != nil && (v.Kind == syntax.Bool && v.Truth || v.IsText() && v.Text == "true")
}

// limitOf parses a limit, which is at least 1.
func limitOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, refuse("Illegal value '%s' for :limit; expected a positive non-zero integer.", syntax.Clip(text))
	}
	return n, nil
}

// offsetOf parses an offset, which is not negative.
func offsetOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, refuse("Illegal value '%s' for :offset; expected a non-negative integer.", syntax.Clip(text))
	}
	return n, nil
}

// orderTerm is an element of the parameter "order_by".
type orderTerm struct {
	field string
	desc  bool
}

// order returns the terms of the parameter "order_by". They are nil if the parameter is missing, blank or null.
func (p params) order() ([]orderTerm, error) {
	v := p["order_by"]
	if v == nil {
		return nil, nil
	}
	quoted := v.Plain()
	if v.IsText() {
		parsed, err := syntax.JSON(v.Text, syntax.QueryLimits)
		if err != nil {
			return nil, refuse("Illegal value '%s' for :order_by; expected a JSON array of maps.", quoted)
		}
		if parsed == nil {
			return nil, nil
		}
		v = parsed
	}
	if v.Kind == syntax.Null {
		return nil, nil
	}
	if !v.IsList() || len(v.Items) > maxColumns {
		return nil, refuse("Illegal value '%s' for :order_by; expected an array of maps.", quoted)
	}
	var terms []orderTerm
	for _, item := range v.Items {
		if item.Kind != syntax.Object {
			return nil, refuse("Illegal value '%s' for :order_by; expected an array of maps.", quoted)
		}
		name := item.Member("field")
		if name == nil {
			return nil, refuse("Illegal value '%s' in :order_by; missing required key field.", item.Notation())
		}
		term := orderTerm{field: name.Plain()}
		if order := item.Member("order"); order != nil && order.Kind != syntax.Null {
			direction := strings.ToLower(order.Plain())
			if !order.IsText() || direction != "asc" && direction != "desc" {
				return nil, refuse("Illegal value '%s' in :order_by; 'order' must be either 'asc' or 'desc'", item.Notation())
			}
			term.desc = direction == "desc"
		}
		for _, m := range item.Members {
			if m.Key != "field" && m.Key != "order" {
				return nil, refuse("Illegal value '%s' in :order_by; unknown key '%s'.", item.Notation(), syntax.Clip(m.Key))
			}
		}
		terms = append(terms, term)
	}
	return terms, nil
}

// page holds the paging parameters of a request.
type page struct {
	order         []orderTerm
	limit, offset int64
	hasOffset     bool // the request has an offset, which may be 0
	total         bool // the request asks for the total number of rows
}

// page returns the paging parameters: order_by, include_total, limit and offset.
func (p params) page() (pg page, err error) {
	if pg.order, err = p.order(); err != nil {
		return pg, err
	}
	pg.total = p.flag("include_total")
	if v := p["limit"]; v != nil && v.Kind != syntax.Null {
		if pg.limit, err = limitOf(v.Plain()); err != nil {
			return pg, err
		}
	}
	if v := p["offset"]; v != nil && v.Kind != syntax.Null {
		pg.hasOffset = true
		pg.offset, err = offsetOf(v.Plain())
	}
	return pg, err
}

// window returns the time span for distinct_resources, or nil if the request does not have this parameter or if it is
// false.
func (p params) window() (*window, error) {
	flag, start, end := p["distinct_resources"], p["distinct_start_time"], p["distinct_end_time"]
	switch {
	case flag == nil && start == nil && end == nil:
		return nil, nil // no distinct_resources
	case flag == nil:
		return nil, refuse("'distinct_resources' query parameter must accompany parameters 'distinct_start_time' and 'distinct_end_time'")
	case start == nil || end == nil:
		return nil, refuse("'distinct_resources' query parameter requires accompanying parameters 'distinct_start_time' and 'distinct_end_time'")
	}
	startTime, startErr := timeValue(start)
	endTime, endErr := timeValue(end)
	if startErr != nil || endErr != nil {
		return nil, refuse("query parameters 'distinct_start_time' and 'distinct_end_time' must be valid datetime strings: %s %s", start.Plain(), end.Plain())
	}
	if flag.Kind == syntax.Bool && !flag.Truth || flag.IsText() && flag.Text == "false" {
		return nil, nil // switched off
	}
	return &window{start: startTime, end: endTime}, nil
}
