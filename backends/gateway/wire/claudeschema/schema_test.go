package claudeschema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestGrammar checks that keywords which the vendor's schemas do not support are moved to the description, because the
// vendor refuses them.
func TestGrammar(t *testing.T) {
	t.Parallel()
	const none = "(none)"
	closed := func(properties string) string {
		return `{"type":"object","properties":{` + properties + `},"additionalProperties":false}`
	}
	for schema, want := range map[string]string{
		closed(`"a" : {"type":"string","enum":["x",null]},"b":{"type":["array","null"],"items":{"type":"integer"},"minItems":1}`):                        "",
		closed(`"a":{"anyOf":[{"$ref":"#/$defs/x"},{"type":"null"}],"description":"d","title":"t"}`):                                                     "",
		`{"type":"object","properties":{"a":{"type":"string","format":"date"}},"required":["a"]}`:                                                        `{"type":"object","properties":{"a":{"type":"string","format":"date"}},"additionalProperties":false,"required":["a"]}`,
		closed(`"a":{"type":"integer","minimum":1,"maximum":9,"description":"A \"number\"."}`):                                                           closed(`"a":{"type":"integer","description":"A \"number\".\n\n{minimum: 1, maximum: 9}"}`),
		closed(`"a":{"type":"string","pattern":"^a\"$","format":"mac"}`):                                                                                 closed(`"a":{"type":"string","description":"{pattern: \"^a\\\"$\", format: \"mac\"}"}`),
		closed(`"a":{"type":"array","items":{"type":"string","maxLength":3},"minItems":2}`):                                                              closed(`"a":{"type":"array","items":{"type":"string","description":"{maxLength: 3}"},"description":"{minItems: 2}"}`),
		closed(`"a":{"oneOf":[{"type":"string"},` + closed(`"b":{"const":1}`) + `]}`):                                                                    closed(`"a":{"anyOf":[{"type":"string"},` + closed(`"b":{"const":1}`) + `]}`),
		closed(`"a":{"$ref":"#/$defs/x","description":"lost"}`):                                                                                          closed(`"a":{"$ref":"#/$defs/x"}`),
		`{"$schema":"s","type":"object","properties":{"a":{"type":"null"}},"$defs":{"x":{"type":"number","multipleOf":2}},"additionalProperties":false}`: `{"$defs":{"x":{"type":"number","description":"{multipleOf: 2}"}},"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false}`,

		`{"type":"object"}`: none,
		`{"type":"object","properties":{},"additionalProperties":true}`:          none,
		closed(`"a":{"type":"object","additionalProperties":{"type":"string"}}`): none,
		closed(`"a":{}`):                            none,
		closed(`"a":true`):                          none,
		closed(`"a":{"$ref":"https://x"}`):          none,
		closed(`"a":{"$ref":"#"}`):                  none,
		closed(`"a":{"enum":[{"b":1}]}`):            none,
		closed(`"a":{"type":"array","items":true}`): none,
		`{"$defs":{"x":` + closed(`"y":{"$ref":"#/$defs/y"}`) + `,"y":` + closed(`"x":{"type":"array","items":{"$ref":"#/$defs/x"}}`) + `},"$ref":"#/$defs/x"}`: none,
		`[]`: none,
	} {
		got, ok := Grammar(schema)
		switch want {
		case "":
			want = schema
		case none:
			want = ""
		}
		if got != want || ok != (want != "") {
			t.Errorf("%s\ngot  %s, %t\nwant %s", schema, got, ok, want)
		}
		if second, ok := Grammar(got); got != "" && (!ok || second != got) {
			t.Errorf("%s\nonce more is %s", got, second)
		}
	}
}

// TestTool checks tool schemas: the vendor accepts only draft 2020-12, and no anyOf, oneOf or allOf at the top.
func TestTool(t *testing.T) {
	t.Parallel()
	object := func(members string) string { return `{"type":"object",` + members + `}` }
	for schema, want := range map[string]string{
		"":                         `{"type":"object","properties":{}}`,
		"{}":                       `{"type":"object"}`,
		`{ "properties":{"a":{}}}`: object(`"properties":{"a":{}}`),
		object(`"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]} },"required":["a"]`): "",
		object(`"properties":{"anyOf":{"type":"array","items":{}}}`):                                 "",
		object(`"properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}`):           object(`"properties":{"a":{"type":"number","exclusiveMinimum":0}}`),
		object(`"properties":{"a":{"exclusiveMaximum":true,"maximum":9.5,"exclusiveMinimum":1}}`):    object(`"properties":{"a":{"exclusiveMaximum":9.5,"exclusiveMinimum":1}}`),
		object(`"$defs":{"x":{"minimum":1,"exclusiveMinimum":false}}`):                               object(`"$defs":{"x":{"minimum":1}}`),
		object(`"properties":{"a":{"exclusiveMinimum":true}}`):                                       object(`"properties":{"a":{}}`),
		object(`"properties":{"minimum":{"type":"array","items":[{"minimum":1,"exclusiveMinimum":true},true],"additionalItems":false}}`): object(
			`"properties":{"minimum":{"type":"array","prefixItems":[{"exclusiveMinimum":1},true],"items":false}}`),
		object(`"properties":{"a":{"type":"string","required":true}}`): object(`"properties":{"a":{"type":"string"}}`),
		`{"type":["object","null"],"properties":{"a":{}}}`:             object(`"properties":{"a":{}}`),
		object(`"properties":{"a":{"type":"string"},"b":{}},"anyOf":[{"required":["a"]},{"required":["b","a"]}],"additionalProperties":false`): object(
			`"additionalProperties":false,"description":"{anyOf: [{\"required\":[\"a\"]},{\"required\":[\"b\",\"a\"]}]}","properties":{"a":{"type":"string"},"b":{}},"required":["a"]`),
		`{"oneOf":[{"$ref":"#/$defs/x"},{"properties":{"k":{"const":"y"},"n":{}},"required":["k"]}],"$defs":{"x":{"properties":{"k":{"const":"x"}},"required":["k"]}},"description":"d"}`: object(
			`"$defs":{"x":{"properties":{"k":{"const":"x"}},"required":["k"]}},"description":"d\n\n{oneOf: [{\"$ref\":\"#/$defs/x\"},{\"properties\":{\"k\":{\"const\":\"y\"},\"n\":{}},\"required\":[\"k\"]}]}",` +
				`"properties":{"k":{"anyOf":[{"const":"x"},{"const":"y"}]},"n":{}},"required":["k"]`),
		object(`"allOf":[{"properties":{"a":{}},"required":["a"]},{"allOf":[{"properties":{"b":{}},"required":["b"]}]}]`): object(
			`"description":"{allOf: [{\"properties\":{\"a\":{}},\"required\":[\"a\"]},{\"allOf\":[{\"properties\":{\"b\":{}},\"required\":[\"b\"]}]}]}","properties":{"a":{},"b":{}},"required":["a","b"]`),
		`{"anyOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"properties":{"a":{}}}]}}}`: object(
			`"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"properties":{"a":{}}}]}},"description":"{anyOf: [{\"$ref\":\"#/$defs/x\"}]}","properties":{"a":{}}`),
	} {
		if want == "" {
			want = schema
		}
		got := Tool(schema)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", schema, got, want)
		}
		if second := Tool(got); second != got {
			t.Errorf("%s\nonce more is %s", got, second)
		}
	}
}

// TestToolIsBounded checks that the time for schemas with many names, branches or references grows with their length.
func TestToolIsBounded(t *testing.T) {
	t.Parallel()
	listed := func(n int, item func(i int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		return strings.Join(items, ",")
	}
	names := listed(100_000, func(i int) string { return fmt.Sprintf(`"n%d"`, i) })
	same := listed(100_000, func(i int) string { return fmt.Sprintf(`"x":{"const":%d}`, i) })
	for name, test := range map[string]struct {
		schema               string
		properties, required int64
	}{
		"required":        {`{"anyOf":[{"required":[` + names + `]},{"required":[` + names + `]}]}`, 0, 100_000},
		"properties":      {`{"allOf":[{"properties":{` + same + `}}]}`, 1, 0},
		"branches":        {`{"anyOf":[{"allOf":[` + strings.Repeat(`{"properties":{"x":{}},"required":["x"]},`, 100_000) + `{}]}]}`, 1, 1},
		"branches differ": {`{"anyOf":[` + strings.Repeat(`{"required":["x"]},`, 100_000) + `{"required":["y"]}]}`, 0, 0},
		"references":      {`{"$defs":{"pad":"` + strings.Repeat("x", 4<<20) + `","a":{"properties":{"x":{}}}},"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 100_000) + `{}]}`, 1, 0},
		"circles":         {`{"$defs":{"a":{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 1000) + `{}]}},"allOf":[{"$ref":"#/$defs/a"}]}`, 0, 0},
	} {
		written := gjson.Parse(Tool(test.schema))
		if got := int64(len(written.Get("properties").Map())); got != test.properties {
			t.Errorf("%s: %d properties, want %d", name, got, test.properties)
		}
		if got := written.Get("required.#").Int(); got != test.required {
			t.Errorf("%s: %d names are required, want %d", name, got, test.required)
		}
	}
}
