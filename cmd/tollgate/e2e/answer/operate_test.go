package answer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAnswersAdminEndpoint checks that a client of the admin endpoint's socket can see the trace of an answer, and
// create and revoke keys. A repeated question is answered from the cache.
func TestAnswersAdminEndpoint(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", "\t\tquota 1000 month\n")
	var response struct{ Result struct{ ID string } }
	for i := range 2 {
		if a := d.ask(asked); a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), &response) != nil {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		trace, err := d.Admin(http.MethodGet, "/admin/answer/traces/"+response.Result.ID, "", "")
		if err != nil || !strings.Contains(trace, `"status":"done"`) || !strings.Contains(trace, `"name":"search"`) || !strings.Contains(trace, `"query":"What was`) || strings.Contains(trace, `"remembered":true`) != (i == 1) {
			t.Errorf("%s %v", trace, err)
		}
	}
	if used, _ := d.used(); used != 2 {
		t.Errorf("%d used", used)
	}
	if got, err := d.Admin(http.MethodGet, "/admin/answer/traces/ans_none", "", ""); err == nil {
		t.Errorf("%s", got)
	}
	for _, path := range []string{"/admin/answer/traces/" + response.Result.ID, "/admin/answer/keys"} {
		if a := d.do(http.MethodGet, path, ""); a.Status != http.StatusNotFound {
			t.Errorf("for clients: %d %s", a.Status, a.Body)
		}
	}
	text, err := d.Admin(http.MethodPost, "/admin/answer/keys", "application/json", `{"label":"second","limit":7,"expires_seconds":3600}`)
	var key struct {
		ID    int64
		Key   string
		Limit int
	}
	if err != nil || json.Unmarshal([]byte(text), &key) != nil || key.Key == "" || key.Limit != 7 {
		t.Fatalf("%s %v", text, err)
	}
	d.key = key.Key
	if a := d.do(http.MethodGet, "/v1/quota", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"totalLimit":7`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if list, err := d.Admin(http.MethodGet, "/admin/answer/keys", "", ""); err != nil || !strings.Contains(list, `"label":"second"`) || strings.Contains(list, key.Key) {
		t.Errorf("%s %v", list, err)
	}
	for _, body := range []string{`{"name":"x"}`, `{"label":"x"} {"limit":1}`, `{"label":"x"}}`} {
		if got, err := d.Admin(http.MethodPost, "/admin/answer/keys", "application/json", body); err == nil {
			t.Errorf("%s created %s", body, got)
		}
	}
	if _, err := d.Admin(http.MethodPost, fmt.Sprintf("/admin/answer/keys/%d/revoke", key.ID), "", ""); err != nil {
		t.Error(err)
	}
	if a := d.do(http.MethodGet, "/v1/quota", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("revoked: %d %s", a.Status, a.Body)
	}
	d.Stop()
}

// TestPage runs the cases of testdata/npm/answer.mjs in a headless Chromium: the page as its users see it.
func TestPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", "\t\tquota 1000 month\n")
	e2e.RunBrowser(t, "answer.mjs", "ANSWER_URL="+d.base, "ANSWER_KEY="+d.key)
	d.Stop()
}
