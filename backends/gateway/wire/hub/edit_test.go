package hub_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// FuzzWithout checks that exactly one member of an object is removed, however it is written.
func FuzzWithout(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"effort":1}`, `{ "effort" : "high" , "a":[1] }`, `{"a":{"effort":2}, "effort":3}`, `{"effort":1,"b":2,"effort":{"x":"}"}}`,
		`{"\u0065ffort":1,"a":0}`, `{"a\"effort":1,"effort":"\"","":null}`, "{\"effort\"\n:\tnull\n,\"b\":1}", `{"a":"\\","effort":1}`, `{"effort.x":1,"effort":{"y":2}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, object string) {
		var want map[string]any
		body := []byte(`{"output":` + object + `}`)
		if json.Unmarshal([]byte(object), &want) != nil || want == nil || !json.Valid(body) {
			return
		}
		_, found := want["effort"]
		delete(want, "effort")
		e := hub.NewEditor(&hub.Request{Body: body}, &hub.Target{}, nil)
		s := jsontext.NewScanner(body)
		if s.Object(func([]byte) error { return e.Without(&s, "output", "effort") }) != nil {
			return // deeper than a request may be
		}
		w := e.Written()
		var got struct{ Output map[string]any }
		if err := json.Unmarshal(w.Body, &got); err != nil || !reflect.DeepEqual(got.Output, want) {
			t.Errorf("%s became %s (%v)", body, w.Body, err)
		}
		if found != (len(w.Dropped) > 0) {
			t.Errorf("%s: dropped %q", body, w.Dropped)
		}
	})
}
