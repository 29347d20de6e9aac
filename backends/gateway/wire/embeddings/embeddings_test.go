package embeddings

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		inputs int
		bytes  int64
	}{
		`{"model":"m","input":"hello"}`:                                 {1, 5},
		`{"model":"m","input":["a","bc"]}`:                              {2, 3},
		`{"model":"m","input":[1,2,3]}`:                                 {1, 12},
		`{"model":"m","input":[[1,2],[3]],"dimensions":null}`:           {2, 12},
		`{"input":"x","encoding_format":"base64","model":"m","user":1}`: {1, 1},
	} {
		r, err := Parse([]byte(body))
		if err != nil || r.Model != "m" || r.Inputs != want.inputs || r.TextBytes != want.bytes || r.Base64 != strings.Contains(body, "base64") {
			t.Errorf("%s: %+v, error %v", body, r, err)
		}
	}
	for body, param := range map[string]string{
		``:                                                  "",
		`[]`:                                                "",
		`{"model":"m","input":"a"} x`:                       "",
		`{"input":"a"}`:                                     "model",
		`{"model":"","input":"a"}`:                          "model",
		`{"model":7,"input":"a"}`:                           "model",
		`{"model":"m"}`:                                     "input",
		`{"model":"m","input":""}`:                          "input",
		`{"model":"m","input":[]}`:                          "input",
		`{"model":"m","input":["a",""]}`:                    "input",
		`{"model":"m","input":["a",1]}`:                     "input",
		`{"model":"m","input":[[]]}`:                        "input",
		`{"model":"m","input":[[1.5]]}`:                     "input",
		`{"model":"m","input":[["a"]]}`:                     "input",
		`{"model":"m","input":{"a":1}}`:                     "input",
		`{"model":"m","input":[null]}`:                      "input",
		`{"model":"m","input":[-1]}`:                        "input",
		`{"model":"m","model":"n"}`:                         "model",
		`{"model":"m","input":"a","input":1}`:               "input",
		`{"model":"m","input":"a","encoding_format":"hex"}`: "encoding_format",
		`{"model":"m","input":"a","encoding_format":1}`:     "encoding_format",
		`{"model":"m","input":"a","dimensions":0}`:          "dimensions",
		`{"model":"m","input":"a","dimensions":"8"}`:        "dimensions",
		`{"model":"m","input":["a"` + strings.Repeat(`,"a"`, MaxInputs) + `]}`: "input",
		"{\"model\":\"m\",\"input\":\"\xff\"}":                                 "",
	} {
		_, err := Parse([]byte(body))
		if e, ok := apierror.From(err); !ok || e.Status != 400 || e.Param != param {
			t.Errorf("%.80s: %v", body, err)
		}
	}
}

// TestFor checks the request that an upstream gets.
func TestFor(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"a/m","input":"x"}`:                                              `{"model":"up","input":"x"}`,
		`{ "input" : [1] , "model" : "a/m" }`:                                      `{ "input" : [1] , "model" : "up" }`,
		`{"Model":"evil","model":"a/m","api_base":"http://x","input":"x"}`:         `{"model":"up","input":"x"}`,
		`{"model":"a/m","stream":true,"input":"x","user":"u"}`:                     `{"model":"up","input":"x"}`,
		`{"model":"a/m","input":"x","encoding_format":null,"input_type":"query"}`:  `{"model":"up","input":"x","input_type":"query"}`,
		`{"model":"a/m","input":"x","encoding_format":"base64","dimensions":null}`: `{"model":"up","input":"x","encoding_format":"base64"}`,
	} {
		r, err := Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, dropped := r.For("up", []string{"user", "seed", "model", "input"})
		if string(got) != want || slices.Contains(dropped, "user") != strings.Contains(body, "user") {
			t.Errorf("%s: %s, dropped %q", body, got, dropped)
		}
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	two, err := Parse([]byte(`{"model":"a/m","input":["x","y"]}`))
	if err != nil {
		t.Fatal(err)
	}
	packed := *two
	packed.Base64 = true
	const data = `"data":[{"object":"embedding","index":0,"embedding":[0.5, -1e0]},{"embedding":[1,2],"index":1}]`
	const base64s = `"data":[{"object":"embedding","index":0,"embedding":"AAAAPwAAgL8="},{"embedding":"AACAPwAAAEA=","index":1}]`
	for _, c := range []struct {
		request    *Request
		body, want string
		prompt     int64
	}{
		{two, `{"object":"list",` + data + `,"model":"up","usage":{"prompt_tokens":7,"total_tokens":7}}`, `{"object":"list",` + data + `,"model":"a/m","usage":{"prompt_tokens":7,"total_tokens":7}}`, 7},
		{two, `{` + data + `,"usage":{"total_tokens":9}}`, `{"model":"a/m",` + data + `,"usage":{"total_tokens":9}}`, 9},
		{&packed, `{` + data + `,"model":"up"}`, `{` + base64s + `,"model":"a/m"}`, 0},
		{&packed, `{` + base64s + `,"model":"up"}`, `{` + base64s + `,"model":"a/m"}`, 0},
	} {
		p := NewPass(c.request)
		got, err := p.Whole(nil, []byte(c.body))
		if err != nil || string(got) != c.want || p.Usage().Prompt != c.prompt || p.Usage().Known != (c.prompt > 0) {
			t.Errorf("%s:\n%s, usage %+v, error %v", c.body, got, p.Usage(), err)
		}
	}
	for _, body := range []string{
		``, `[]`, `{}`, `{"data":[]}`, `{"data":{}}`, `{"data":[{"embedding":[1]}]}`, `{"data":[{"embedding":[1]},{"embedding":[]}]}`,
		`{"data":[{"embedding":[1]},{"index":1}]}`, `{"data":[{"embedding":[1]},{"embedding":["a"]}]}`, `{"data":[{"embedding":[1]},{"embedding":""}]}`,
		`{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, `{` + data, `{` + data + `} x`,
	} {
		if got, err := NewPass(two).Whole(nil, []byte(body)); got != nil || !errors.Is(err, wire.ErrBroken) {
			t.Errorf("%s: %s, error %v", body, got, err)
		}
	}
	_, err = NewPass(two).Whole(nil, []byte(`{"error":{"message":"quota","code":"insufficient_quota"}}`))
	if e, ok := errors.AsType[*wire.UpstreamError](err); !ok || e.Code != "insufficient_quota" {
		t.Errorf("an error in a good answer: %v", err)
	}
}

func FuzzWhole(f *testing.F) {
	f.Add(`{"model":"m","input":["x"],"encoding_format":"base64"}`, `{"data":[{"embedding":[0.5,1]}],"model":"up"}`)
	f.Add(`{"model":"m","input":[1,2]}`, `{"usage":{"total_tokens":3},"data":[{"embedding":"AAAA"}]}`)
	f.Fuzz(func(t *testing.T, request, answer string) {
		r, err := Parse([]byte(request))
		if err != nil {
			return
		}
		body, _ := r.For("up", []string{"user"})
		parsed, err := Parse(body)
		if err != nil || parsed.Model != "up" || parsed.Inputs != r.Inputs || parsed.TextBytes != r.TextBytes {
			t.Fatalf("%s became %s: %+v, %v", request, body, parsed, err)
		}
		out, err := NewPass(r).Whole(nil, []byte(answer))
		if err != nil {
			return
		}
		var got struct {
			Model string
			Data  []struct{ Embedding json.RawMessage }
		}
		if err := json.Unmarshal(out, &got); err != nil || got.Model != r.Model || len(got.Data) != r.Inputs {
			t.Fatalf("%s became %s: %v", answer, out, err)
		}
	})
}

// BenchmarkBase64 encodes 16 vectors of 1536 numbers.
func BenchmarkBase64(b *testing.B) {
	r, err := Parse([]byte(`{"model":"m","encoding_format":"base64","input":["a"` + strings.Repeat(`,"a"`, 15) + `]}`))
	if err != nil {
		b.Fatal(err)
	}
	vector := `{"embedding":[-0.012345678` + strings.Repeat(",0.0123456789", 1535) + `]}`
	answer := []byte(`{"data":[` + vector + strings.Repeat(","+vector, 15) + `]}`)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		if out, err = NewPass(r).Whole(out[:0], answer); err != nil {
			b.Fatal(err)
		}
	}
	text := string(out[strings.Index(string(out), `"embedding":"`)+13:])
	raw, err := base64.StdEncoding.DecodeString(text[:strings.IndexByte(text, '"')])
	if err != nil || math.Float32frombits(binary.LittleEndian.Uint32(raw)) != -0.012345678 {
		b.Fatalf("%v, error %v", raw[:min(4, len(raw))], err)
	}
}
