package board

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// boardForgetful are members who have forgotten their passwords.
const boardForgetful = `{"users": [
	{"name": "frank", "email": "frank@example.com", "password": "forgotten horse"},
	{"name": "greta", "email": "greta@example.com", "emailConfirmed": true, "password": "correct horse"}
]}`

// TestBoardRecovery runs the cases of testdata/npm/board_recovery.mjs in a headless Chromium without script: people
// join, and members get a new password and another mail address, by links in mails.
func TestBoardRecovery(t *testing.T) {
	t.Parallel()
	n, site, mails := mailingBoard(t, "", "")
	if err := os.WriteFile(n.Path("people.json"), []byte(boardForgetful), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Tool("board", "seed", "--fixture", "people.json")
	n.Start()
	e2e.RunBrowserBeside(t, "board_recovery.mjs", "BOARD_URL="+site, "MAILS_URL="+mails)
	n.Stop()
	logs := n.Logs.String()
	for _, secret := range []string{"frank@example.com", "greta@example.com", "henry@example.com", "token="} {
		if strings.Contains(logs, secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
	if !strings.Contains(logs, `"uri":"/forgot"`) {
		t.Error("there is no access log")
	}
}

// TestBoardLanguages runs the case of testdata/npm/board_languages.mjs in a headless Chromium that asks for German, on
// a board with a text of the operator.
func TestBoardLanguages(t *testing.T) {
	t.Parallel()
	n, site, mails := mailingBoard(t, "", "\t\tlanguage de\n\t\ttexts texts\n")
	if err := os.Mkdir(n.Path("texts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.Path("texts/de.json"), []byte(`{"texts": {"Join": "Mitmachen"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	people := `{"users": [{"name": "mona", "password": "correct horse", "groups": ["registered", "moderators"]}]}`
	if err := os.WriteFile(n.Path("people.json"), []byte(people), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Tool("board", "seed", "--fixture", e2e.Repo("backends/board/testdata/fixture.json"))
	n.Tool("board", "seed", "--fixture", "people.json")
	n.Start()
	e2e.RunBrowserBeside(t, "board_languages.mjs", "BOARD_URL="+site, "MAILS_URL="+mails)
}

// mailingBoard returns a node with the shipped board that sends mails and has not been started, its URL, and the URL
// that serves its mails. The board has further options and is under a path or at the root of its host.
func mailingBoard(t *testing.T, path, options string) (n *e2e.Node, site, mailsURL string) {
	t.Helper()
	server := testenv.SMTP(t)
	port := e2e.FreePort(t)
	site = "http://127.0.0.1:" + port
	board := "\ttollgate board {\n" + options + "\t\tbase_url " + site + path + "\n\t\tmail smtp://" + server.Address + " {\n\t\t\tfrom board@example.com\n\t\t}\n\t}\n"
	if path != "" {
		board = "\tredir " + path + " " + path + "/\n\thandle_path " + path + "/* {\n" + board + "\t}\n\thandle {\n\t\trespond \"another site\"\n\t}\n"
	}
	n = e2e.NewNode(t, e2e.Shipped(t, "board", "{$TOLLGATE_DOMAIN:localhost}", site, "\ttollgate board\n", board))
	site += path
	// A GET waits for the next mails and returns them.
	mails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-server.Arrived():
			_ = json.NewEncoder(w).Encode(server.Take())
		case <-time.After(background):
			http.Error(w, "no mail came", http.StatusGatewayTimeout)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(mails.Close)
	return n, site, mails.URL
}

// TestBoardPagesBudget checks that requests beyond the budget are refused with a page on pages, and with a JSON object
// on the API.
func TestBoardPagesBudget(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	site := strings.TrimSuffix(b.api, "/api/v1")
	// If a window ends meanwhile, a few more requests are admitted.
	tooFast := func(method, address, body string) (a *e2e.Answer) {
		for range 1500 {
			if a = e2e.Do(t, e2e.Client, method, address, "", body); a.Status == 429 {
				break
			}
		}
		return a
	}
	for _, path := range []string{"/search?q=public", "/", "/nothing"} {
		a := tooFast(http.MethodGet, site+path, "")
		if a.Status != 429 || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(a.Body, "<h1>Too many requests</h1>") || !strings.Contains(a.Body, "Try again in") ||
			strings.Contains(a.Body, "budget") || a.Header.Get("Retry-After") == "" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %s %v", path, a.Status, a.Body, a.Header)
		}
	}
	if a := e2e.Do(t, e2e.Client, http.MethodGet, site+"/assets/board.css", "", ""); a.Status != 200 {
		t.Errorf("the style of that page: %d", a.Status)
	}
	if a := b.do("", "GET", "/forums", ""); a.Status != 200 {
		t.Errorf("the API: %d %s", a.Status, a.Body)
	}
	if a := tooFast(http.MethodPost, b.api+"/password-reset", `{"email":"a@example.com"}`); a.Status != 429 || !strings.Contains(a.Body, `"rate_limited"`) {
		t.Errorf("the API, too fast: %d %s", a.Status, a.Body)
	}
}
