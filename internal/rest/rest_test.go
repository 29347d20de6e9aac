package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

type thing struct {
	Name string `json:"name"`
	Size struct {
		Width *int `json:"width"`
	} `json:"size"`
}

func table() []Route {
	return []Route{
		{
			Method: "GET", Path: "/things/{id}", Tag: "Things", Summary: "Show", Guest: true, Answer: "Thing", Errors: []int{404},
			Query: []Param{{Name: "limit", Schema: `{"type":"integer"}`}},
			Serve: func(c *Call) (any, error) {
				limit, err := c.Int("limit", 3, 1, 9)
				return map[string]any{"id": c.Path("id"), "limit": limit, "user": c.User()}, err
			},
		},
		{
			Method: "POST", Path: "/things/{id}", Tag: "Things", Summary: "Make", Body: "Thing", Answer: "Thing", Status: 201,
			Serve: func(c *Call) (any, error) {
				var in thing
				return &in, c.Decode(&in)
			},
		},
		{Method: "DELETE", Path: "/things/{id}", Tag: "Things", Summary: "Remove", Serve: func(*Call) (any, error) { return nil, nil }},
		{
			Method: "GET", Path: "/files/{name...}", Tag: "Files", Summary: "Fetch", Guest: true, Hidden: true, Status: 200,
			Serve: func(c *Call) (any, error) {
				return Raw{Type: "text/plain", Name: "a b.txt", Data: []byte(c.Path("name"))}, nil
			},
		},
	}
}

// someone is the id of a user, or empty for a guest.
type someone string

func (s someone) UserID() string { return string(s) }

func TestRouter(t *testing.T) {
	t.Parallel()
	router := NewRouter("", table())
	mounted := NewRouter("/api/v1", table())
	for name, test := range map[string]struct {
		method, target, user, body string
		status                     int
		want                       string // part of the body, or the code of the error
	}{
		"guest":                {"GET", "/things/1", "", "", 200, `{"id":"1","limit":3,"user":""}`},
		"user":                 {"GET", "/things/1?limit=9", "ann", "", 200, `{"id":"1","limit":9,"user":"ann"}`},
		"HEAD":                 {"HEAD", "/things/1", "", "", 200, ""},
		"escaped":              {"GET", "/things/a%2Fb", "", "", 200, `"id":"a/b"`},
		"out of range":         {"GET", "/things/1?limit=10", "", "", 400, "invalid_value"},
		"no number":            {"GET", "/things/1?limit=x", "", "", 400, "invalid_value"},
		"made":                 {"POST", "/things/1", "ann", `{"name":"<a>"}`, 201, `{"name":"<a>","size":{"width":null}}`},
		"without a credential": {"POST", "/things/1", "", `{}`, 401, "invalid_token"},
		"method":               {"PATCH", "/things/1", "", "", 405, "method_not_allowed"},
		"nothing to tell":      {"DELETE", "/things/1", "ann", "", 204, ""},
		"the rest of the path": {"GET", "/files/a/b", "", "", 200, "a/b"},
		"empty body":           {"POST", "/things/1", "ann", " ", 400, "invalid_json"},
		"broken":               {"POST", "/things/1", "ann", `{"name":`, 400, "invalid_json"},
		"no object":            {"POST", "/things/1", "ann", `[1]`, 400, "invalid_value"},
		"wrong type":           {"POST", "/things/1", "ann", `{"size":{"width":"x"}}`, 400, "size.width"},
		"no whole number":      {"POST", "/things/1", "ann", `{"size":{"width":1e3}}`, 400, "size.width"},
		"beyond all numbers":   {"POST", "/things/1", "ann", `{"size":{"width":99999999999999999999}}`, 400, "size.width"},
		"unknown member":       {"POST", "/things/1", "ann", `{"nome":1}`, 400, "nome"},
		"more behind":          {"POST", "/things/1", "ann", `{} {}`, 400, "invalid_json"},
		"not UTF-8":            {"POST", "/things/1", "ann", "{\"name\":\"\xff\"}", 400, "invalid_json"},
		"too deep":             {"POST", "/things/1", "ann", `{"name":` + strings.Repeat("[", 40), 400, "invalid_json"},
		"brackets in a text":   {"POST", "/things/1", "ann", `{"name":"` + strings.Repeat(`\"[`, 40) + `"}`, 201, "["},
		"too large":            {"POST", "/things/1", "ann", `{"name":"` + strings.Repeat("x", MaxBody) + `"}`, 413, "request_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, test.target, strings.NewReader(test.body))
			found, ok := router.Find(r)
			if !ok {
				t.Fatal("there is no such path")
			}
			if _, ok := mounted.Find(r); ok {
				t.Error("there is such a path without the prefix")
			}
			if _, ok := mounted.Find(httptest.NewRequest(test.method, "/api/v1"+test.target, nil)); !ok {
				t.Error("there is no such path below the prefix")
			}
			w := httptest.NewRecorder()
			err := found.Serve(w, someone(test.user))
			if test.status >= 400 {
				refusal, ok := apierror.From(err)
				if !ok || refusal.Status != test.status || (refusal.Code != test.want && refusal.Param != test.want) || w.Body.Len() > 0 {
					t.Errorf("error %+v, body %q", err, w.Body)
				}
				return
			}
			if err != nil || w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("status %d, error %v, body %q", w.Code, err, w.Body)
			}
			if cached := w.Header().Get("Cache-Control"); (cached == "no-store") != (test.method != "GET" && test.method != "HEAD") {
				t.Errorf("Cache-Control %q", cached)
			}
		})
	}
	for _, target := range []string{"/", "/things", "/things/", "/things//1", "/things/../things/1"} {
		r := httptest.NewRequest("GET", target, nil)
		if _, ok := router.Find(r); ok || r.Pattern != "" {
			t.Errorf("%s is found", target)
		}
	}
	w := httptest.NewRecorder()
	for method, guest := range map[string]bool{"GET": true, "HEAD": true, "POST": false, "DELETE": false, "PUT": true} {
		if found, ok := router.Find(httptest.NewRequest(method, "/things/1", nil)); !ok || found.Guest() != guest {
			t.Errorf("%s is for guests: %t", method, found.Guest())
		}
	}
	found, _ := router.Find(httptest.NewRequest("PUT", "/things/1", nil))
	_ = found.Serve(w, nil)
	if allow := w.Header().Get("Allow"); allow != "DELETE, GET, HEAD, POST" {
		t.Errorf("Allow: %s", allow)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	call := func(query string) *Call { return &Call{R: httptest.NewRequest("GET", "/?"+query, nil)} }
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "at=2026-01-31": "2026-01-31T00:00:00Z", "at=2026-01-31T08:00:00%2B01:00": "2026-01-31T07:00:00Z",
		"at=2026-01-31T08:00:00+01:00": "2026-01-31T07:00:00Z", "at=yesterday": "error", "at=2026-02-30": "error",
	} {
		value, err := call(text).Time("at")
		if got := value.UTC().Format(time.RFC3339); (err != nil) != (want == "error") || (err == nil && got != want) {
			t.Errorf("%s: got %s with the error %v, want %s", text, got, err, want)
		}
	}
	if word, err := call("format=csv").Choice("format", "json", "csv"); word != "csv" || err != nil {
		t.Error(word, err)
	}
	if word, err := call("").Choice("format", "json", "csv"); word != "json" || err != nil {
		t.Error(word, err)
	}
	if _, err := call("format=x").Choice("format", "json", "csv"); err == nil {
		t.Error("x is accepted as a choice")
	}
	if value, err := call("cursor=" + Cursor(123456789)).Cursor("cursor"); value != 123456789 || err != nil {
		t.Error(value, err)
	}
	for _, bad := range []string{"cursor=x", "cursor=%00", "cursor=" + Cursor(-1), "cursor=" + strings.Repeat("A", 100)} {
		if _, err := call(bad).Cursor("cursor"); err == nil {
			t.Errorf("%s is accepted as a cursor", bad)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	d := Document{Title: "T", Version: "1", Components: json.RawMessage(`{"schemas":{}}`), Security: "user", Extra: map[string]json.RawMessage{"/more": json.RawMessage(`{}`)}}
	text, err := d.OpenAPI(table())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In string }
			Security    []any
			RequestBody *struct{ Required bool }
			Responses   map[string]any
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	show, create := got.Paths["/things/{id}"]["get"], got.Paths["/things/{id}"]["post"]
	if got.OpenAPI != "3.1.0" || len(got.Paths) != 2 || show.OperationID != "getThingsId" || len(show.Parameters) != 2 || len(show.Security) != 0 ||
		len(create.Security) != 1 || !create.RequestBody.Required || create.Responses["201"] == nil || create.Responses["413"] == nil ||
		create.Responses["401"] == nil || show.Responses["404"] == nil || show.Responses["401"] != nil {
		t.Errorf("the document differs from the table of routes: %s", text)
	}
	d.Extra = map[string]json.RawMessage{"/things/{id}": json.RawMessage(`{}`)}
	if _, err := d.OpenAPI(table()); err == nil {
		t.Error("a path may be described twice")
	}
}

func TestConflictingRoutesPanic(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a table has a route twice")
		}
	}()
	NewRouter("", table(), table()[:1])
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"name":"a","size":{"width":3}}`, `{`, `[]`, `{"name":1}`, `{"x":1}`, "{\"name\":\"\\ud800\"}", `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var decoded thing
		err := decode(text, &decoded)
		if err == nil {
			if !json.Valid(text) {
				t.Errorf("%q is not JSON", text)
			}
			return
		}
		refusal, ok := apierror.From(err)
		if !ok || refusal.Status != http.StatusBadRequest || len(refusal.Message) > 400 {
			t.Errorf("%q: got the error %v, want a short one with status 400", text, err)
		}
	})
}
