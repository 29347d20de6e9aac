package scriptedmodel

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	ask := func(body string) (int, string) {
		w := httptest.NewRecorder()
		New(Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/embeddings", strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	dot := func(a, b gjson.Result) (sum float64) {
		other := b.Array()
		for i, x := range a.Array() {
			sum += x.Float() * other[i].Float()
		}
		return sum
	}
	status, body := ask(`{"model":"scripted?prompt_tokens=7","input":["Rain, over Oslo","oslo rain","prices"],"dimensions":64}`)
	all := gjson.Get(body, "data.#.embedding").Array()
	if status != 200 || len(all) != 3 || len(all[0].Array()) != 64 || gjson.Get(body, "usage.prompt_tokens").Int() != 7 || gjson.Get(body, "model").Str != "scripted" {
		t.Fatalf("%d %s", status, body)
	}
	if sameWords, far := dot(all[0], all[1]), dot(all[0], all[2]); sameWords < far+0.3 || dot(all[0], all[0]) < 0.999 {
		t.Errorf("texts with the same words are as far apart as others: %g, %g", sameWords, far)
	}
	if _, packed := ask(`{"model":"scripted","input":"x","encoding_format":"base64","dimensions":3}`); len(gjson.Get(packed, "data.0.embedding").Str) != 16 {
		t.Error(packed)
	}
	if status, body = ask(`{"model":"scripted?status=429","input":"x"}`); status != 429 {
		t.Errorf("%d %s", status, body)
	}
	for _, bad := range []string{``, `{}`, `{"model":"scripted"}`, `{"model":"scripted","input":[]}`, `{"model":"scripted","input":"x","dimensions":0}`, `{"model":7,"input":"x"}`} {
		if status, body := ask(bad); status != 400 {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}
