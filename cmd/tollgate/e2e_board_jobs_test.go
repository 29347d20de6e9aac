package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// boardJobsPeople are one who can sign in to make a webhook, and one with a mail
// address.
const boardJobsPeople = `{
"users": [
	{"name": "root", "password": "correct horse", "groups": ["registered", "administrators"]},
	{"name": "mia", "email": "mia@example.com", "emailConfirmed": true}
],
"tokens": [{"user": "mia", "name": "mia"}]
}`

// background is how long work in the background may take here.
const background = 90 * time.Second

var (
	formToken     = regexp.MustCompile(`name="token" value="([^"]+)"`)
	webhookSecret = regexp.MustCompile(`whsec_[A-Za-z0-9_-]+`)
)

// webhook signs in as root and makes a webhook for new posts; it returns the secret.
func (b *boardNode) webhook(address string) string {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: startLimit}
	site := strings.TrimSuffix(b.api, "/api/v1")
	send := func(path string, values url.Values) string {
		b.t.Helper()
		token := formToken.FindStringSubmatch(do(b.t, c, http.MethodGet, site+path, "", "").body)
		if token == nil {
			b.t.Fatalf("%s has no form", path)
		}
		values.Set("token", token[1])
		a := do(b.t, c, http.MethodPost, site+path, "", values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if a.status != 200 {
			b.t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		return a.body
	}
	send("/login", url.Values{"name": {"root"}, "password": {"correct horse"}})
	secret := webhookSecret.FindString(send("/admin/webhooks", url.Values{"url": {address}, "topics": {"post.created"}}))
	if secret == "" {
		b.t.Fatal("no secret is shown")
	}
	return secret
}

// TestBoardJobs: a webhook hears of a post after a kill -9 right behind it, a
// member is mailed of it, and attachments are as visible as their posts.
func TestBoardJobs(t *testing.T) {
	t.Parallel()
	server := testenv.SMTP(t)
	b := newBoard(t, "\t\tcounters memory\n", "\t\tcounters memory\n\t\tallow_networks 127.0.0.0/8\n",
		"\ttollgate board\n", "\ttollgate board {\n\t\tno_flood\n\t\tbase_url https://forum.example.com\n\t\tmail smtp://"+server.Address+" {\n\t\t\tfrom board@example.com\n\t\t}\n\t}\n")
	if err := os.WriteFile(b.path("people.json"), []byte(boardJobsPeople), 0o600); err != nil {
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

	if a := b.do("mia", "PUT", "/threads/1/subscription", ""); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := b.do("bob", "POST", "/threads/1/posts", `{"message":"To be told of"}`)
	b.kill() // right after it was acknowledged
	if a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	b.start()
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
	attach := func(as, thread string) string {
		t.Helper()
		var reply struct{ Data struct{ ID json.Number } }
		if err := json.Unmarshal([]byte(b.do(as, "POST", "/threads/"+thread+"/posts", `{"message":"With a file in `+thread+`"}`).body), &reply); err != nil {
			t.Fatal(err)
		}
		a := do(t, client, http.MethodPost, b.api+"/threads/"+thread+"/posts/"+reply.Data.ID.String()+"/attachments?name=words.txt", b.tokens[as], file, "Content-Type", "text/plain")
		if a.status != 201 || a.header.Get("X-Ratelimit-Cost") != "5" {
			t.Fatalf("%d %s %v", a.status, a.body, a.header)
		}
		location := a.header.Get("Location")
		return location[strings.LastIndex(location, "/attachments/"):]
	}
	public := attach("alice", "1")
	if a = b.do("", "GET", public, ""); a.status != 200 || a.body != file || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	private := attach("alice", "5") // of the forum for members
	if a = b.do("bob", "GET", private, ""); a.status != 200 || a.body != file {
		t.Errorf("a member: %d %s", a.status, a.body)
	}
	if a = b.do("", "GET", private, ""); a.status != 404 || strings.Contains(a.body, file) {
		t.Errorf("a guest: %d %s", a.status, a.body)
	}
	if stored, err := filepath.Glob(b.path("data", "board-attachments", "*", "*")); err != nil || len(stored) != 1 {
		t.Errorf("%v %v", stored, err)
	}
	b.stop()
	if logs := b.logs.String(); strings.Contains(logs, secret) || strings.Contains(logs, "mia@example.com") {
		t.Error("a secret or an address is in the log")
	}
}
