package hub

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	const (
		person = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":["integer","null"]}},"required":["name","age"],"additionalProperties":false}`
		tree   = `{"$defs":{"n/ode":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/n~1ode"},{"type":"null"}]}},"required":["next"]}},"$ref":"#/$defs/n~1ode"}`
		loop   = `{"$ref":"#"}`
	)
	for _, c := range []struct {
		schema, text string
		want         bool
	}{
		{person, `{"age":null,"n\u0061me":"x"}`, true},
		{person, `{"name":"x","age":3}`, true},
		{person, `{"name":"x","age":3.5}`, false},
		{person, `{"name":"x"}`, false},
		{person, `{"name":1,"age":3}`, false},
		{person, `{"name":"x","age":3,"more":1}`, false},
		{`{"additionalProperties":{"type":"number"}}`, `{"a":1}`, true},
		{`{"additionalProperties":{"type":"number"}}`, `{"a":"1"}`, false},
		{`{"additionalProperties":false,"patternProperties":{"^a":{}}}`, `{"a":"1"}`, true},
		{`{"properties":{"l":{"type":"array","items":{"enum":["a","b",1,[1, 2],null]}}}}`, `{"l":["a",1.0,[1,2],null]}`, true},
		{`{"properties":{"l":{"type":"array","items":{"enum":["a","b",1]}}}}`, `{"l":["a","c"]}`, false},
		{`{"properties":{"l":{"const":true}}}`, `{"l":false}`, false},
		{`{"properties":{"l":{"const":true}}}`, `{"l":true}`, true},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, false},
		{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, true},
		{`{"properties":{"a":false}}`, `{"a":1}`, false},
		{`{"$ref":"#/allOf/1","allOf":[{},{"required":["b"]}]}`, `{"a":1}`, false},
		{`{"$ref":"#/allOf/7","allOf":[{}]}`, `{"a":1}`, true},
		{`{"$ref":"https://x/y"}`, `{"a":1}`, true},
		{tree, `{"next":{"next":null}}`, true},
		{tree, `{"next":{"next":3}}`, false},
		{loop, `{}`, true},
		{`{"anyOf":[{"$ref":"#"},{"type":"null"}]}`, `{}`, true},
		{`{"type":"unknown","format":"date","properties":5,"required":7,"items":[1]}`, `{"a":[1]}`, true},
		{``, `{}`, true},
	} {
		if got := matches(c.schema, c.text); got != c.want {
			t.Errorf("%s under %s: %v", c.text, c.schema, got)
		}
	}
}

// TestMatchesBounds checks that a text whose check takes too much work counts as a match.
func TestMatchesBounds(t *testing.T) {
	t.Parallel()
	names := strings.Repeat(`"a",`, 20_000)
	members := strings.Repeat(`"b":1,`, 20_000)
	s := schemaCheck{root: gjson.Parse(`{"required":[` + names + `"c"]}`)}
	s.valid(s.root, gjson.Parse(`{`+members+`"a":1}`))
	if s.work > 2*maxSchemaWork {
		t.Errorf("%d bytes of work", s.work)
	}
	if !matches(`{"required":[`+names+`"a"]}`, `{`+members+`"a":1}`) {
		t.Error("it does not match")
	}
}

// anyWriter accepts every answer.
type anyWriter struct{ Writer }

func (anyWriter) Whole([]Delta) ([]byte, error) { return []byte("ok"), nil }

func TestChecked(t *testing.T) {
	t.Parallel()
	say := func(text string) Delta { return Delta{Kind: DeltaText, Text: jsontext.AppendEscaped(nil, text)} }
	end := func(f Finish) Delta { return Delta{Kind: DeltaEnd, End: End{Finish: f}} }
	for name, c := range map[string]struct {
		deltas []Delta
		good   bool
	}{
		"in pieces":   {[]Delta{say(`{"a":`), say(`"x"}`), end(FinishStop)}, true},
		"missing":     {[]Delta{say(`{}`), end(FinishStop)}, false},
		"a text":      {[]Delta{say("Sure!"), end(FinishStop)}, false},
		"in a fence":  {[]Delta{say("```json\n{\"a\":1}\n```"), end(FinishStop)}, false},
		"an array":    {[]Delta{say(`["a"]`), end(FinishStop)}, false},
		"empty":       {[]Delta{end(FinishStop)}, false},
		"cut off":     {[]Delta{say(`{"a`), end(FinishLength)}, true},
		"a call":      {[]Delta{say("I look."), {Kind: DeltaCall, Name: "f"}, end(FinishCalls)}, true},
		"a refusal":   {[]Delta{{Kind: DeltaRefusal, Text: []byte("no")}, end(FinishRefusal)}, true},
		"a deep text": {[]Delta{say(`{"a":` + strings.Repeat("[", 100_000) + `}`), end(FinishStop)}, false},
	} {
		_, err := Checked(anyWriter{}, &Output{Kind: "json_schema", Schema: `{"required":["a"]}`}).Whole(c.deltas)
		if (err == nil) != c.good || err != nil && !errors.Is(err, ErrSchema) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzMatches(f *testing.F) {
	f.Add(`{"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"$ref":"#"},{"type":"null"}],"enum":[1,{"a":[]}]}},"items":{"$ref":"#"}}`, `{"a":[{"b":null}]}`)
	f.Fuzz(func(_ *testing.T, schema, text string) {
		if wire.CheckObject([]byte(schema)) == nil && wire.CheckObject([]byte(text)) == nil {
			matches(schema, text)
		}
	})
}
