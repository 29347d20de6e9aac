package board

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// boardJobsPeople are a member who can sign in to create a webhook, and a member with a mail address.
const boardJobsPeople = `{
"users": [
	{"name": "root", "password": "correct horse", "groups": ["registered", "administrators"]},
	{"name": "mia", "email": "mia@example.com", "emailConfirmed": true}
],
"tokens": [{"user": "mia", "name": "mia"}]
}`

// background is how long jobs in the background may take in these tests.
const background = 90 * time.Second

// webhook signs in as root, creates a webhook for new posts and returns its secret.
func (b *boardNode) webhook(address string) string {
	b.T.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.T.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: e2e.StartLimit}
	site := strings.TrimSuffix(b.api, "/api/v1")
	send := func(path string, values url.Values) string {
		b.T.Helper()
		token := e2e.FormToken.FindStringSubmatch(e2e.Do(b.T, c, http.MethodGet, site+path, "", "").Body)
		if token == nil {
			b.T.Fatalf("%s has no form", path)
		}
		values.Set("token", token[1])
		a := e2e.Do(b.T, c, http.MethodPost, site+path, "", values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if a.Status != 200 {
			b.T.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		return a.Body
	}
	send("/login", url.Values{"name": {"root"}, "password": {"correct horse"}})
	secret := e2e.WebhookSecret.FindString(send("/admin/webhooks/new", url.Values{"url": {address}, "topics": {"post.created"}}))
	if secret == "" {
		b.T.Fatal("no secret is shown")
	}
	return secret
}

// TestBoardJobs checks that a webhook receives a post although the server is killed right after the acknowledgement,
// that a member gets a mail about the post, and that attachments are as visible as their posts.
func TestBoardJobs(t *testing.T) {
	t.Parallel()
	server := testenv.SMTP(t)
	b := newBoard(t, "\t\tcounters memory\n", "\t\tcounters memory\n\t\tallow_networks 127.0.0.0/8\n",
		"\ttollgate board\n", "\ttollgate board {\n\t\tno_flood\n\t\tbase_url https://forum.example.com\n\t\tmail smtp://"+server.Address+" {\n\t\t\tfrom board@example.com\n\t\t}\n\t}\n")
	if err := os.WriteFile(b.Path("people.json"), []byte(boardJobsPeople), 0o600); err != nil {
		t.Fatal(err)
	}
	b.seed("people.json")

	type delivery struct {
		header http.Header
		body   string
	}
	deliveries := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- delivery{r.Header, string(body)}
	}))
	defer receiver.Close()
	secret := b.webhook(receiver.URL + "/hook")

	if a := b.do("mia", "PUT", "/threads/1/subscription", ""); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a := b.do("bob", "POST", "/threads/1/posts", `{"message":"To be told of"}`)
	b.Kill() // right after the acknowledgement
	if a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	b.Start()
	select {
	case d := <-deliveries:
		if d.header.Get("X-Board"+webhook.HeaderSignature) != webhook.Sign([]byte(secret), d.header.Get("X-Board"+webhook.HeaderTimestamp), d.body) || d.header.Get("X-Board"+webhook.HeaderTopic) != "post.created" ||
			d.header.Get("X-Board"+webhook.HeaderDelivery) == "" || !strings.Contains(d.body, `"threadId":1`) || strings.Contains(d.body, "To be told of") {
			t.Errorf("%v %s", d.header, d.body)
		}
	case <-time.After(background):
		t.Fatal("nothing was delivered")
	}
	select {
	case <-server.Arrived():
		if mails := server.Take(); len(mails) != 1 || mails[0].To != "mia@example.com" || !strings.Contains(mails[0].Data, "  To be told of\n") || !strings.Contains(mails[0].Data, "List-Unsubscribe:") {
			t.Errorf("%+v", mails)
		}
	case <-time.After(background):
		t.Fatal("no mail came")
	}

	const file = "a file of some words"
	attach := func(user, thread string) string {
		t.Helper()
		var reply struct{ Data struct{ ID json.Number } }
		if err := json.Unmarshal([]byte(b.do(user, "POST", "/threads/"+thread+"/posts", `{"message":"With a file in `+thread+`"}`).Body), &reply); err != nil {
			t.Fatal(err)
		}
		a := e2e.Do(t, e2e.Client, http.MethodPost, b.api+"/threads/"+thread+"/posts/"+reply.Data.ID.String()+"/attachments?name=words.txt", b.tokens[user], file, "Content-Type", "text/plain")
		if a.Status != 201 || a.Header.Get("X-Ratelimit-Cost") != "5" {
			t.Fatalf("%d %s %v", a.Status, a.Body, a.Header)
		}
		location := a.Header.Get("Location")
		return location[strings.LastIndex(location, "/attachments/"):]
	}
	public := attach("alice", "1")
	if a = b.do("", "GET", public, ""); a.Status != 200 || a.Body != file || a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	private := attach("alice", "5") // in the forum for members
	if a = b.do("bob", "GET", private, ""); a.Status != 200 || a.Body != file {
		t.Errorf("a member: %d %s", a.Status, a.Body)
	}
	if a = b.do("", "GET", private, ""); a.Status != 404 || strings.Contains(a.Body, file) {
		t.Errorf("a guest: %d %s", a.Status, a.Body)
	}
	if stored, err := filepath.Glob(b.Path("data", "board-attachments", "*", "*")); err != nil || len(stored) != 1 {
		t.Errorf("%v %v", stored, err)
	}
	b.Stop()
	if logs := b.Logs.String(); strings.Contains(logs, secret) || strings.Contains(logs, "mia@example.com") {
		t.Error("a secret or an address is in the log")
	}
}
