package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/library"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// result returns the result of a successful answer.
func result[T any](t *testing.T, r *rig, method, path, body string) T {
	t.Helper()
	w := r.do(method, path, body)
	var envelope struct {
		Success bool
		Result  T
	}
	if err := json.Unmarshal(w.Body.Bytes(), &envelope); err != nil || w.Code != http.StatusOK || !envelope.Success {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return envelope.Result
}

type evidence struct {
	ID     string
	Claims []struct {
		Text     string
		Passages []int64
	}
	Passages []struct {
		ID         int64
		Title, URL string
		Page       int
		Parts      []struct {
			Text   string
			Marked bool
		}
	}
	Gone int
}

// TestEvidence checks that the asker sees what an answer stands on, with marks on what the answer repeats,
// and that other responses do not contain it.
func TestEvidence(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, k, func(o *api.Options) {
			o.Keyring = func() (keyring.Keyring, error) { return ring, nil }
			o.SourceURL = func(url string) string { return strings.Replace(url, "corpus:", "/v1/sources/", 1) }
			o.Passages = func(_ context.Context, ids []int64) (list []kernel.Passage, err error) {
				for _, id := range ids {
					if id == 7 {
						list = append(list, kernel.Passage{ID: 7, Title: "Report", URL: "corpus:report.pdf", Page: 12, Text: "Revenue was $5 million in 2019, up from 4.5."})
					}
				}
				return list, nil
			}
		})
		r.claims = []api.Claim{{Text: "Revenue was $5 million.", Passages: []int64{7, 9}}, {Text: "This is information, not advice."}}
		given := r.do(http.MethodPost, "/v1/answer", asks("What was revenue?"))
		if strings.Contains(given.Body.String(), "claims") || strings.Contains(given.Body.String(), "asked") {
			t.Errorf("the answer shows what is kept beside it: %s", given.Body)
		}
		var answer struct{ Result struct{ ID string } }
		if err := json.Unmarshal(given.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		path := "/v1/answers/" + answer.Result.ID
		if stored := r.do(http.MethodGet, path, ""); strings.Contains(stored.Body.String(), "claims") || stored.Code != http.StatusOK {
			t.Errorf("%d %s", stored.Code, stored.Body)
		}
		e := result[evidence](t, r, http.MethodGet, path+"/evidence", "")
		if e.ID != answer.Result.ID || len(e.Claims) != 2 || e.Claims[0].Text != "Revenue was $5 million." || len(e.Passages) != 1 || e.Gone != 1 {
			t.Fatalf("%+v", e)
		}
		p := e.Passages[0]
		if p.URL != "/v1/sources/report.pdf" || p.Page != 12 || len(p.Parts) != 2 || p.Parts[0].Text != "Revenue was $5 million" || !p.Parts[0].Marked || p.Parts[1].Marked {
			t.Errorf("%+v", p)
		}
		other, _, err := r.accounts.Create(t.Context(), accounts.NewKey{Label: "other"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct{ path, key string }{"another account": {path, other}, "no answer": {"/v1/answers/ans_00000000000000000000000000", r.key}} {
			if w := r.do(http.MethodGet, c.path+"/evidence", "", "X-Api-Key", c.key); w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
		}
		if w := r.do(http.MethodPost, path+"/evidence", "{}"); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%d", w.Code)
		}
	})
}

// TestCompaniesPaced checks the limit of 60 requests per minute and key, which exists because one company can
// have many figures.
func TestCompaniesPaced(t *testing.T) {
	t.Parallel()
	k := answertest.SQLite(t)
	r := newRig(t, k, func(o *api.Options) { o.Library = library.New(k.Server) })
	for range 60 {
		if w := r.do(http.MethodGet, "/v1/companies/7", ""); w.Code != http.StatusNotFound {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := r.do(http.MethodGet, "/v1/companies", ""); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPrevious checks that a question may follow an answer of the same account, and of no other.
func TestPrevious(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	other, _, err := r.accounts.Create(t.Context(), accounts.NewKey{Label: "other"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(body string, header ...string) (int, string) {
		w := r.do(http.MethodPost, "/v1/answer", body, header...)
		var answer struct{ Result struct{ ID string } }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		return w.Code, answer.Result.ID
	}
	_, first := ask(asks("first "))
	code, second := ask(`{"query":"second ","previous":"` + first + `"}`)
	if code != http.StatusOK {
		t.Fatal(code)
	}
	if code, _ = ask(`{"query":"third","previous":"` + second + `"}`); code != http.StatusOK {
		t.Error(code)
	}
	if want := []string{"", "first", "secondfirst"}; strings.Join(r.previous, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", r.previous, want)
	}
	for name, c := range map[string]struct {
		body   string
		header []string
	}{
		"no such answer":     {`{"query":"q","previous":"ans_00000000000000000000000000"}`, nil},
		"of another account": {`{"query":"q","previous":"` + first + `"}`, []string{"X-Api-Key", other}},
		"a number":           {`{"query":"q","previous":1}`, nil},
		"twice":              {`{"query":"q","previous":"` + first + `","previous":"` + first + `"}`, nil},
	} {
		if code, _ := ask(c.body, c.header...); code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, code)
		}
	}
}
