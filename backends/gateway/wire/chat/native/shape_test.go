package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// body reads a shaped body in all supported ways.
func body(t *testing.T, s *Shaped) string {
	t.Helper()
	all, err := io.ReadAll(s.Reader())
	if err != nil {
		t.Fatal(err)
	}
	bytewise, err := io.ReadAll(iotest.OneByteReader(s.Reader()))
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	n, err := io.Copy(&written, s.Reader()) // uses WriteTo
	if err != nil || n != s.Len() {
		t.Errorf("wrote %d bytes of %d, %v", n, s.Len(), err)
	}
	if int64(len(all)) != s.Len() || !bytes.Equal(all, bytewise) || !bytes.Equal(all, written.Bytes()) {
		t.Errorf("Len is %d; read\n%s, then\n%s, then\n%s", s.Len(), all, bytewise, written.Bytes())
	}
	return string(all)
}

func TestShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		in      string
		shape   Shape
		want    string
		dropped []string
	}{
		{"model", `{"model":"m",` + hello + `}`, Shape{Model: "up/x"}, `{"model":"up/x",` + hello + `}`, nil},
		{"model with quotes", `{"model":"m",` + hello + `}`, Shape{Model: `a"b\é`}, `{"model":"a\"b\\é",` + hello + `}`, nil},
		{"same model", `{"model":"\u006d",` + hello + `}`, Shape{Model: "m"}, `{"model":"\u006d",` + hello + `}`, nil},
		{
			"white space and order", "{\n  " + hello + " ,\r\n\t\"model\" :\t\"m\" , \"z\" : [ 1 , 2 ],\"a\":{ }\n}\n",
			Shape{Model: "x"},
			"{\n  " + hello + " ,\r\n\t\"model\" :\t\"x\" , \"z\" : [ 1 , 2 ],\"a\":{ }\n}\n", nil,
		},
		{"drop first", `{ "user" : "u" , "model":"m",` + hello + `}`, Shape{Model: "m", Drop: []string{"user"}}, `{ "model":"m",` + hello + `}`, []string{"user"}},
		{"drop last", `{"model":"m",` + hello + ` , "user":"u" }`, Shape{Model: "m", Drop: []string{"user"}}, `{"model":"m",` + hello + ` }`, []string{"user"}},
		{"drop middle", `{"model":"m" , "user":"u" , ` + hello + `}`, Shape{Model: "m", Drop: []string{"user"}}, `{"model":"m",` + hello + `}`, []string{"user"}},
		{
			"drop runs", `{"a":1,"b":2,"model":"m","c":3,"d":4,` + hello + `,"e":5,"f":6}`,
			Shape{Model: "m", Drop: []string{"f", "e", "d", "c", "b", "a", "absent"}},
			`{"model":"m",` + hello + `}`,
			[]string{"a", "b", "c", "d", "e", "f"},
		},
		{"drop by another spelling", `{"model":"m",` + hello + `,"us\u0065r":"u"}`, Shape{Model: "m", Drop: []string{"user"}}, `{"model":"m",` + hello + `}`, []string{"user"}},
		{"drop all but one", `{"a":1,"model":"m",` + hello + `,"b":2}`, Shape{Model: "x", Drop: []string{"a", "b", "messages"}}, `{"model":"x"}`, []string{"a", "messages", "b"}},
		{"drop all", `{ "model":"m",` + hello + ` }`, Shape{Model: "m", Drop: []string{"model", "messages"}}, `{  }`, []string{"model", "messages"}},
		{
			"drop all, stream", `{"model":"m",` + hello + `,"stream":true}`,
			Shape{Model: "m", Drop: []string{"model", "messages", "stream"}, StreamUsage: true},
			`{"stream_options":{"include_usage":true}}`,
			[]string{"model", "messages", "stream"},
		},
		{"rename", `{"model":"m","seed" : 1,` + hello + `}`, Shape{Model: "m", Rename: map[string]string{"seed": "random_seed"}}, `{"model":"m","random_seed" : 1,` + hello + `}`, nil},
		{
			"rename first and last", `{ "a":1,"model":"m",` + hello + `,"b" :2 }`,
			Shape{Model: "m", Rename: map[string]string{"a": "x", "b": "y\""}},
			`{ "x":1,"model":"m",` + hello + `,"y\"" :2 }`, nil,
		},
		{
			"rename to a name that the client uses", `{"model":"m","seed":1,` + hello + `,"random_seed":2}`,
			Shape{Model: "m", Rename: map[string]string{"seed": "random_seed"}},
			`{"model":"m",` + hello + `,"random_seed":2}`,
			[]string{"seed"},
		},
		{"old limit", `{"model":"m","max_completion_tokens":5,` + hello + `}`, Shape{Model: "m", MaxTokensField: "max_tokens"}, `{"model":"m","max_tokens":5,` + hello + `}`, nil},
		{"new limit", `{"model":"m","max_tokens":5,` + hello + `}`, Shape{Model: "m", MaxTokensField: "max_completion_tokens"}, `{"model":"m","max_completion_tokens":5,` + hello + `}`, nil},
		{"limit as it is", `{"model":"m","max_tokens":5,` + hello + `}`, Shape{Model: "m", MaxTokensField: "max_tokens"}, `{"model":"m","max_tokens":5,` + hello + `}`, nil},
		{
			"both limits", `{"model":"m","max_tokens":5,` + hello + `,"max_completion_tokens":6}`,
			Shape{Model: "m", MaxTokensField: "max_tokens"},
			`{"model":"m",` + hello + `,"max_tokens":6}`,
			[]string{"max_tokens"},
		},
		{
			"both limits, turned", `{"model":"m","max_completion_tokens":6,` + hello + `,"max_tokens":5}`,
			Shape{Model: "m", MaxTokensField: "max_tokens"},
			`{"model":"m","max_tokens":6,` + hello + `}`,
			[]string{"max_tokens"},
		},
		{
			"a null is no limit", `{"model":"m","max_completion_tokens":null,"max_tokens":5,` + hello + `}`,
			Shape{Model: "m", MaxTokensField: "max_completion_tokens"},
			`{"model":"m","max_completion_tokens":5,` + hello + `}`,
			[]string{"max_completion_tokens"},
		},
		{
			"two nulls", `{"model":"m","max_tokens":null,"max_completion_tokens":null,` + hello + `}`,
			Shape{Model: "m", MaxTokensField: "max_tokens"},
			`{"model":"m","max_tokens":null,` + hello + `}`,
			[]string{"max_completion_tokens"},
		},
		{
			"both limits as the client named them", `{"model":"m","max_tokens":5,` + hello + `,"max_completion_tokens":6}`,
			Shape{Model: "m"},
			`{"model":"m","max_tokens":5,` + hello + `,"max_completion_tokens":6}`, nil,
		},
		{"usage is asked for", `{"model":"m","stream":true,` + hello + ` }`, Shape{Model: "m", StreamUsage: true}, `{"model":"m","stream":true,` + hello + `,"stream_options":{"include_usage":true} }`, nil},
		{
			"usage was asked for", `{"model":"m","stream_options": { "include_usage" : true , "x":1 },"stream":true,` + hello + `}`,
			Shape{Model: "m", StreamUsage: true},
			`{"model":"m","stream_options": { "include_usage" : true , "x":1 },"stream":true,` + hello + `}`, nil,
		},
		{
			"usage was refused", `{"model":"m","stream_options":{"x":1, "include_usage": false },"stream":true,` + hello + `}`,
			Shape{Model: "m", StreamUsage: true},
			`{"model":"m","stream_options":{"x":1, "include_usage": true },"stream":true,` + hello + `}`, nil,
		},
		{
			"usage beside other options", `{"stream_options":{ "include_obfuscation":false},"model":"m","stream":true,` + hello + `}`,
			Shape{Model: "m", StreamUsage: true},
			`{"stream_options":{"include_usage":true, "include_obfuscation":false},"model":"m","stream":true,` + hello + `}`, nil,
		},
		{
			"empty options", `{"model":"m","stream":true,` + hello + `,"stream_options":{ }}`,
			Shape{Model: "m", StreamUsage: true},
			`{"model":"m","stream":true,` + hello + `,"stream_options":{"include_usage":true}}`, nil,
		},
		{
			"null options", `{"model":"m","stream":true,"stream_options":null,` + hello + `}`,
			Shape{Model: "m", StreamUsage: true},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},` + hello + `}`, nil,
		},
		{"no stream, no usage", `{"model":"m","stream":false,` + hello + `}`, Shape{Model: "m", StreamUsage: true}, `{"model":"m","stream":false,` + hello + `}`, nil},
		{
			"options that are not taken", `{"model":"m","stream":true,"stream_options":{"include_usage":true},` + hello + `}`,
			Shape{Model: "m", Drop: []string{"stream_options"}},
			`{"model":"m","stream":true,` + hello + `}`,
			[]string{"stream_options"},
		},
		{
			"developer", `{"model":"m","messages":[{"role":"developer","content":"developer"},{"content":"b","role" : "devel\u006fper" },{"role":"user"}]}`,
			Shape{Model: "m"},
			`{"model":"m","messages":[{"role":"system","content":"developer"},{"content":"b","role" : "system" },{"role":"user"}]}`, nil,
		},
		{
			"developer kept", `{"model":"m","messages":[{"role":"developer","content":"a"}]}`,
			Shape{Model: "x", Developer: true},
			`{"model":"x","messages":[{"role":"developer","content":"a"}]}`, nil,
		},
		{"tool choice", `{"model":"m","tool_choice" : "required",` + hello + `}`, Shape{Model: "m", ToolChoiceRequired: "any"}, `{"model":"m","tool_choice" : "any",` + hello + `}`, nil},
		{"other tool choice", `{"model":"m","tool_choice":"auto",` + hello + `}`, Shape{Model: "m", ToolChoiceRequired: "any"}, `{"model":"m","tool_choice":"auto",` + hello + `}`, nil},
		{"tool choice kept", `{"model":"m","tool_choice":"required",` + hello + `}`, Shape{Model: "m"}, `{"model":"m","tool_choice":"required",` + hello + `}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			shaped := r.Shape(&c.shape)
			if got := body(t, shaped); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !slices.Equal(shaped.Dropped, c.dropped) {
				t.Errorf("dropped %q, want %q", shaped.Dropped, c.dropped)
			}
			if string(r.Body) != c.in {
				t.Error("the client's body was changed")
			}
		})
	}
}

func TestSends(t *testing.T) {
	t.Parallel()
	r, err := Parse([]byte(`{"model":"m",` + hello + `,"max_tokens":5,"seed":1,"stream":true,"user":"u","temperature":1}`))
	if err != nil {
		t.Fatal(err)
	}
	shape := &Shape{Model: "m", Drop: []string{"user"}, Rename: map[string]string{"seed": "random_seed"}, MaxTokensField: "max_completion_tokens", StreamUsage: true}
	for name, want := range map[string]bool{
		"model": true, "max_tokens": false, "max_completion_tokens": true, "seed": false, "random_seed": true, "user": false, "temperature": true, "stream_options": true, "absent": false,
	} {
		if got := r.Sends(shape, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if r.Sends(&Shape{Model: "m"}, "stream_options") {
		t.Error("stream_options are sent although they are not needed")
	}
}

// failingWriter accepts some bytes and then fails.
type failingWriter struct{ room int }

func (w *failingWriter) Write(b []byte) (int, error) {
	n := min(w.room, len(b))
	w.room -= n
	if n < len(b) {
		return n, errors.New("full")
	}
	return n, nil
}

func TestShapedReaderStops(t *testing.T) {
	t.Parallel()
	r, err := Parse([]byte(`{"model":"m",` + hello + `,"user":"u"}`))
	if err != nil {
		t.Fatal(err)
	}
	shaped := r.Shape(&Shape{Model: "x", Drop: []string{"user"}})
	want := body(t, shaped)
	for room := range len(want) {
		reader := shaped.Reader()
		n, err := io.Copy(&failingWriter{room}, reader)
		if n != int64(room) || err == nil {
			t.Fatalf("room for %d: wrote %d, %v", room, n, err)
		}
	}
	reader := shaped.Reader()
	if n, err := reader.Read(nil); n != 0 || err != nil {
		t.Errorf("reading into nothing: %d, %v", n, err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

// TestLease checks that the memory of a body is released once, by its last user, and that a closed reader reads nothing
// from it.
func TestLease(t *testing.T) {
	t.Parallel()
	r, err := Parse([]byte(`{"model":"m",` + hello + `,"user":"` + strings.Repeat("u", smallBody) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	r.Lease = wire.NewLease(func(bool) { ended++ })
	shaped := r.Shape(&Shape{Model: "x"})
	first, second := shaped.Reader(), shaped.Reader()
	if _, err := io.ReadFull(first, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // transports close twice
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := first.Read(make([]byte, 5)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a closed reader read %d bytes, %v", n, err)
	}
	r.Lease.Give()
	if ended != 0 {
		t.Fatal("given back while a reader is open")
	}
	if _, err := io.ReadAll(second); err != nil {
		t.Error(err)
	}
	if ended != 0 {
		t.Fatal("given back at the end of a reader, which a transport may still close")
	}
	if err := second.Close(); err != nil || ended != 1 {
		t.Errorf("given back %d times, %v", ended, err)
	}
	var none *wire.Lease
	none.Take()
	none.Keep()
	none.Give()
}

// member is one member of a JSON object.
type member struct {
	name  string
	value any
}

// members decodes a JSON object and keeps the order of its members.
func members(t *testing.T, text []byte) (list []member) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		list = append(list, member{key.(string), value})
	}
	return list
}

// expected returns the members that Shape should write, computed in a simple way from decoded members.
func expected(r *Request, in []member, shape *Shape) []member {
	given := func(name string) bool { return slices.ContainsFunc(in, func(m member) bool { return m.name == name }) }
	limit := ""
	if shape.MaxTokensField != "" {
		for _, m := range in { // the new name takes precedence, null is ignored
			switch {
			case m.name == "max_tokens" && m.value != nil && limit == "", m.name == "max_completion_tokens" && m.value != nil:
				limit = m.name
			}
		}
	}
	var out []member
	options, limited := false, false
	for _, m := range in {
		isLimit := m.name == "max_tokens" || m.name == "max_completion_tokens"
		switch {
		case wire.Foreign(wire.APIChat, []byte(m.name)), m.name == "extra_body" && !onlyGoogle(m.value):
			continue
		case m.name == "stream_options" && shape.StreamUsage && r.Stream:
			options = true
			changed := map[string]any{}
			if old, ok := m.value.(map[string]any); ok {
				changed = old
			}
			changed["include_usage"] = true
			out = append(out, member{m.name, changed})
			continue
		case slices.Contains(shape.Drop, m.name):
			continue
		case isLimit && shape.MaxTokensField != "":
			if limited || (limit != "" && m.name != limit) {
				continue
			}
			limited = true
			m.name = shape.MaxTokensField
		case m.name == "model":
			m.value = shape.Model
		case m.name == "tool_choice" && m.value == "required" && shape.ToolChoiceRequired != "":
			m.value = shape.ToolChoiceRequired
		case m.name == "messages" && !shape.Developer:
			for _, message := range m.value.([]any) {
				if message := message.(map[string]any); message["role"] == "developer" {
					message["role"] = "system"
				}
			}
		}
		if newName := shape.Rename[m.name]; newName != "" && newName != m.name && !isLimit {
			if given(newName) {
				continue
			}
			m.name = newName
		}
		out = append(out, m)
	}
	if shape.StreamUsage && r.Stream && !options {
		out = append(out, member{"stream_options", map[string]any{"include_usage": true}})
	}
	return out
}

// onlyGoogle reports whether an extra_body has only Gemini's own member.
func onlyGoogle(extra any) bool {
	object, ok := extra.(map[string]any)
	_, google := object["google"]
	return ok && (len(object) == 0 || google && len(object) == 1)
}

// randomShape returns a shape that the catalog allows: essential members are neither dropped nor renamed, and no two
// members get the same name.
func randomShape(rng *rand.Rand, r *Request) *Shape {
	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	shape := &Shape{
		Model: pick("m", "up/stream", "q\"\\\n"), MaxTokensField: pick("", "max_tokens", "max_completion_tokens"), ToolChoiceRequired: pick("", "any"),
		Developer: rng.IntN(2) == 0, StreamUsage: rng.IntN(2) == 0, Rename: map[string]string{},
	}
	targets := []string{"renamed_1", "renamed_2", "random_seed", "t\"ü"}
	for _, f := range r.fields {
		name := string(f.name)
		switch name {
		case "model", "messages", "stream", "max_tokens", "max_completion_tokens":
			continue
		}
		switch rng.IntN(4) {
		case 0:
			shape.Drop = append(shape.Drop, name)
		case 1:
			if n := len(targets); n > 0 && name != "stream_options" {
				shape.Rename[name], targets = targets[n-1], targets[:n-1]
			}
		}
	}
	if rng.IntN(8) == 0 {
		shape.Drop = append(shape.Drop, pick("max_tokens", "max_completion_tokens", "seed", "random_seed"))
	}
	return shape
}

func checkShape(t *testing.T, in []byte, r *Request, shape *Shape) {
	t.Helper()
	want := expected(r, members(t, in), shape)
	shaped := r.Shape(shape)
	text := body(t, shaped)
	if !json.Valid([]byte(text)) {
		t.Fatalf("shape %+v of\n%s is not JSON:\n%s", shape, in, text)
	}
	got := members(t, []byte(text))
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("shape %+v of\n%s is\n%s\ngot  %v\nwant %v", shape, in, text, got, want)
	}
	names := map[string]bool{}
	for _, m := range got {
		if names[m.name] {
			t.Fatalf("shape %+v of\n%s has %q twice:\n%s", shape, in, m.name, text)
		}
		names[m.name] = true
		if !r.Sends(shape, m.name) {
			t.Fatalf("shape %+v of\n%s: Sends denies %q", shape, in, m.name)
		}
	}
}

// randomRequest returns a request with random members, order and white space.
func randomRequest(rng *rand.Rand) string {
	fields := []string{`"model":"m"`, `"messages":[{"role":"developer","content":"d"},{"content":"x","role":"user"},{"role":"developer"}]`}
	for _, f := range []string{
		`"stream":true`, `"stream":false`, `"max_tokens":7`, `"max_tokens":null`, `"max_completion_tokens":9`, `"max_completion_tokens":null`,
		`"seed":1`, `"random_seed":2`, `"s\u0065ed2":3`, `"user":"ü\""`, `"tool_choice":"required"`, `"tool_choice":{"type":"x"}`, `"":[]`, `"temperature":0.10`, `"Model":"x"`, `"models":["y"]`, `"maxTokens":1`, `"extra_body":{"google":1}`, `"extra_body":{"google":1,"model":"x"}`,
		`"stream_options":{}`, `"stream_options":null`, `"stream_options":{"include_usage":true}`, `"stream_options":{"a":[1],"include_usage":false}`, `"stream_options":{"b":{}}`,
	} {
		name, _, _ := strings.Cut(f, ":")
		if rng.IntN(2) == 0 && !slices.ContainsFunc(fields, func(other string) bool { return strings.HasPrefix(other, name+":") }) {
			fields = append(fields, f)
		}
	}
	rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	space := func() string { return []string{"", "", " ", "\n\t"}[rng.IntN(4)] }
	var b strings.Builder
	b.WriteString(space() + "{" + space())
	for i, f := range fields {
		if i > 0 {
			b.WriteString(space() + "," + space())
		}
		name, value, _ := strings.Cut(f, ":")
		b.WriteString(name + space() + ":" + space() + value)
	}
	return b.String() + space() + "}" + space()
}

func TestShapeOfRandomRequests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		in := []byte(randomRequest(rng))
		r, err := Parse(in)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		checkShape(t, in, r, randomShape(rng, r))
	}
}

func FuzzShape(f *testing.F) {
	for i, seed := range chatSeeds {
		f.Add([]byte(seed), uint64(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		r, err := Parse(in)
		if err != nil {
			return
		}
		checkShape(t, in, r, randomShape(rand.New(rand.NewPCG(seed, 2)), r))
	})
}
