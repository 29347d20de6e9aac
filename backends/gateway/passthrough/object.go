package passthrough

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxModel is the maximum length of a model's name, in bytes.
const maxModel = 512

// Object is a JSON body in which the model can be replaced.
type Object struct {
	Model string
	// Characters is the length of the member input, in characters.
	Characters int64

	body       []byte
	from, to   int // the range of the value of model in body; both are 0 if body has no model
	afterBrace int // the offset after the first brace of body
}

// ReadObject parses a JSON body. Errors are *apierror.Error with status 400. A repeated member model is refused,
// because the gateway and the provider might read different values.
func ReadObject(body []byte) (*Object, error) {
	if !gjson.ValidBytes(body) {
		return nil, apierror.New(http.StatusBadRequest, "invalid_json", "the body is not JSON")
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return nil, apierror.New(http.StatusBadRequest, "invalid_json", "the body must be a JSON object")
	}
	o := &Object{body: body, afterBrace: bytes.IndexByte(body, '{') + 1}
	var err error
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "model":
			if o.to != 0 { // a model was found before
				err = errRepeatedModel()
				return false
			}
			if value.Type != gjson.String || value.Str == "" || len(value.Str) > maxModel {
				err = apierror.New(http.StatusBadRequest, "invalid_value", "model must be a text of 1 to %d bytes",
					maxModel).With("model")
				return false
			}
			o.Model, o.from, o.to = value.Str, value.Index, value.Index+len(value.Raw)
		case "input":
			o.Characters = int64(utf8.RuneCountInString(value.Str))
		}
		return true
	})
	return o, err
}

// errRepeatedModel returns the error for a body with two models.
func errRepeatedModel() error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "model is given twice").With("model")
}

// Text returns the value of a member, or an empty string if the member is absent or not a string.
func (o *Object) Text(member string) string { return gjson.GetBytes(o.body, gjson.Escape(member)).Str }

// BodyFor returns the body for a provider that calls the model by this name. If the body has no model, the member is
// added. An empty model changes nothing. The error is always nil.
func (o *Object) BodyFor(model string) (body io.ReadCloser, size int64, err error) {
	if model == "" || model == o.Model {
		return io.NopCloser(bytes.NewReader(o.body)), int64(len(o.body)), nil
	}
	head, tail := o.body[:o.from], o.body[o.to:]
	inserted := gjson.AppendJSONString(nil, model)
	if o.to == 0 { // no model to replace: the member is inserted
		head, tail = o.body[:o.afterBrace], o.body[o.afterBrace:]
		inserted = append([]byte(`"model":`), inserted...)
		if empty := bytes.HasPrefix(bytes.TrimLeft(tail, " \t\r\n"), []byte("}")); !empty {
			inserted = append(inserted, ',')
		}
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(head), bytes.NewReader(inserted), bytes.NewReader(tail))),
		int64(len(head) + len(inserted) + len(tail)), nil
}

// Usage reads the usage from the end of a response: from the last object usage, or else from the last object
// billed_units, which Cohere sends. tail may begin in the middle of the response. u.Known is false if no usage is
// found.
func Usage(tail []byte) (u wire.Usage) {
	for _, member := range [...]string{`"usage"`, `"billed_units"`} {
		index := bytes.LastIndex(tail, []byte(member))
		if index < 0 {
			continue
		}
		value := bytes.TrimLeft(tail[index+len(member):], " \t\r\n:")
		var object json.RawMessage
		if json.NewDecoder(bytes.NewReader(value)).Decode(&object) != nil || object[0] != '{' {
			continue
		}
		readUsage(gjson.ParseBytes(object), &u)
		return u
	}
	return u
}

// readUsage reads the fields of a usage object, in the format of any provider, into u. u.Known is false if the object
// has no amount.
func readUsage(usage gjson.Result, u *wire.Usage) {
	firstPositive := func(names ...string) int64 {
		for _, name := range names {
			if n := usage.Get(name); n.Type == gjson.Number && n.Num > 0 && n.Num < 1e15 {
				return n.Int()
			}
		}
		return 0
	}
	u.Prompt = firstPositive("input_tokens", "prompt_tokens")
	if usage.Get("cache_read_input_tokens").Exists() || usage.Get("cache_creation_input_tokens").Exists() {
		readMessagesUsage(usage, firstPositive, u)
		return
	}
	u.Completion = firstPositive("output_tokens", "completion_tokens")
	u.CacheRead = min(
		u.Prompt, firstPositive("input_tokens_details.cached_tokens", "prompt_tokens_details.cached_tokens"))
	u.Reasoning = firstPositive(
		"output_tokens_details.reasoning_tokens", "completion_tokens_details.reasoning_tokens")
	if u.Prompt == 0 && u.Completion == 0 {
		u.Prompt = firstPositive("total_tokens")
	}
	for _, unit := range [...]struct{ name, member string }{{"second", "seconds"}, {"search", "search_units"}} {
		if n := firstPositive(unit.member); n > 0 {
			u.Served = addCalls(u.Served, unit.name, n)
		}
	}
	u.Known = u.Prompt > 0 || u.Completion > 0 || u.Served != nil
}

// readMessagesUsage reads a usage object of the messages format into u. The caller has set u.Prompt to input_tokens.
// In this format the input tokens do not include cached ones. firstPositive looks at the members of usage with the
// given names and returns the value of the first one that is a positive number, or 0.
func readMessagesUsage(usage gjson.Result, firstPositive func(names ...string) int64, u *wire.Usage) {
	u.CacheRead = firstPositive("cache_read_input_tokens")
	u.CacheWrite = firstPositive("cache_creation_input_tokens")
	u.CacheWriteHour = min(u.CacheWrite, firstPositive("cache_creation.ephemeral_1h_input_tokens"))
	u.Prompt += u.CacheRead + u.CacheWrite
	u.Completion = firstPositive("output_tokens")
	u.Reasoning = firstPositive("output_tokens_details.thinking_tokens")
	u.Known = u.Prompt > 0 || u.Completion > 0
	scanner := jsontext.NewScanner([]byte(usage.Get("server_tool_use").Raw))
	_ = wire.ScanServedCalls(&scanner, &u.Served) // an invalid object adds no calls
}

// addCalls adds n units, such as seconds or characters, to s. They are priced like calls of server tools. It returns s,
// or a new value if s is nil.
func addCalls(s *wire.Served, unit string, n int64) *wire.Served {
	if s == nil {
		s = &wire.Served{Calls: make(map[string]int64)}
	}
	s.Calls[unit] += n
	return s
}

// SpeechUsage returns the usage of a speech request, which is billed by the characters of its input.
func SpeechUsage(characters int64) wire.Usage {
	return wire.Usage{Known: true, Served: addCalls(nil, "character", characters)}
}
