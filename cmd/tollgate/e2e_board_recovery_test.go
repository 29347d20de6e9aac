package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// boardForgetful have forgotten their passwords.
const boardForgetful = `{"users": [
	{"name": "frank", "email": "frank@example.com", "password": "forgotten horse"},
	{"name": "greta", "email": "greta@example.com", "emailConfirmed": true, "password": "correct horse"}
]}`

// TestBoardRecovery: people join, and members get a new password and another mail
// address, by links in mails: the cases of testdata/npm/board_recovery.mjs in a headless Chromium
// without script.
func TestBoardRecovery(t *testing.T) {
	t.Parallel()
	program, browser := nodeProgram(t), chromium(t)
	server := testenv.SMTP(t)
	port := freePort(t)
	site := "http://127.0.0.1:" + port
	n := newNode(t, shipped(t, "board", "{$TOLLGATE_DOMAIN:localhost}", site,
		"\ttollgate board\n", "\ttollgate board {\n\t\tbase_url "+site+"\n\t\tmail smtp://"+server.Address+" {\n\t\t\tfrom board@example.com\n\t\t}\n\t}\n"))
	if err := os.WriteFile(n.path("people.json"), []byte(boardForgetful), 0o600); err != nil {
		t.Fatal(err)
	}
	n.tool("board", "seed", "--fixture", "people.json")
	n.start()

	// GET answers with the next mails, as soon as there are any.
	mails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-server.Arrived():
			_ = json.NewEncoder(w).Encode(server.Take())
		case <-time.After(background):
			http.Error(w, "no mail came", http.StatusGatewayTimeout)
		case <-r.Context().Done():
		}
	}))
	defer mails.Close()
	runNode(t, program, "board_recovery.mjs", "CHROMIUM="+browser, "BOARD_URL="+site, "MAILS_URL="+mails.URL)
	n.stop()
	logs := n.logs.String()
	for _, secret := range []string{"frank@example.com", "greta@example.com", "henry@example.com", "token="} {
		if strings.Contains(logs, secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
	if !strings.Contains(logs, `"uri":"/forgot"`) {
		t.Error("there is no access log")
	}
}

// TestBoardPagesBudget: pages that are asked for too fast are refused by a page,
// and operations of the API by an object.
func TestBoardPagesBudget(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	site := strings.TrimSuffix(b.api, "/api/v1")
	// Where a window ends meanwhile a little more is admitted.
	tooFast := func(method, address, body string) (a *answer) {
		for range 1500 {
			if a = do(t, client, method, address, "", body); a.status == 429 {
				break
			}
		}
		return a
	}
	for _, path := range []string{"/search?q=public", "/", "/nothing"} {
		a := tooFast(http.MethodGet, site+path, "")
		if a.status != 429 || a.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(a.body, "<h1>Too fast</h1>") || !strings.Contains(a.body, "Try again in") ||
			strings.Contains(a.body, "budget") || a.header.Get("Retry-After") == "" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %s %v", path, a.status, a.body, a.header)
		}
	}
	if a := do(t, client, http.MethodGet, site+"/assets/board.css", "", ""); a.status != 200 {
		t.Errorf("the style of that page: %d", a.status)
	}
	if a := b.do("", "GET", "/forums", ""); a.status != 200 {
		t.Errorf("the API: %d %s", a.status, a.body)
	}
	if a := tooFast(http.MethodPost, b.api+"/password-reset", `{"email":"a@example.com"}`); a.status != 429 || !strings.Contains(a.body, `"rate_limited"`) {
		t.Errorf("the API, too fast: %d %s", a.status, a.body)
	}
}
