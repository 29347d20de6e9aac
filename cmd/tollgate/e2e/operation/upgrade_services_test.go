package operation

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// Values in the databases of the releases.
const (
	password = "correct horse" // the password of all users
	notes    = "https://notes.example.com/"
	redirect = "http://127.0.0.1:1/back"
	question = "What was the revenue of Tarnwick Foods in fiscal 2025?"
)

// lookAtGateway checks keys, models and usage, and that the key of the provider opens.
func (e *earlier) lookAtGateway(up *e2e.Upstream) {
	e.T.Helper()
	user := strings.TrimSpace(e.Tool("keychain", "token", "ada"))
	own := e.gateway + "/users/ada"
	e.has(own+"/keychain-keys", user, `"label":"ci"`, `"rate_limit_per_minute":7`)
	e.has(own+"/models", user, "own/large")
	e.has(own+"/preferences", user, `"openai"`)
	e.has(own+"/usage/recent", user, `"provider":"openai"`, `"key_id":`)
	start := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	e.has(own+"/usage?group=provider&from="+start.Format(time.DateOnly)+"&to="+start.AddDate(1, 0, 0).Format(time.DateOnly), user, `"requests":2`)
	a := e2e.Ask(e.T.Context(), e.gateway, e.noted["gateway_key"], e2e.Prompt("keychain-high", false))
	if a.Status != 200 {
		e.T.Errorf("a request with the key: %d %s", a.Status, a.Body)
	}
	requests := up.Requests()
	if len(requests) == 0 || requests[len(requests)-1].Header.Get("Authorization") != "Bearer sk-of-the-upgrade-test" {
		e.T.Errorf("the provider was asked %d times", len(requests))
	}
}

// lookAtEvents checks reports, events, nodes and counts.
func (e *earlier) lookAtEvents() {
	e.T.Helper()
	query := func(path string) (rows []map[string]any) {
		a := e2e.Get(e.T, e2e.Client, e.events+"/store/query/v4/"+path, "")
		if err := json.Unmarshal([]byte(a.Body), &rows); err != nil || a.Status != 200 {
			e.T.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		return rows
	}
	for path, want := range map[string]int{"reports": 3, "events": 9, "nodes": 1, "environments": 1} { // the other node is deactivated
		if rows := query(path); len(rows) != want {
			e.T.Errorf("%s: %d rows, want %d", path, len(rows), want)
		}
	}
	if rows := query("event-counts?summarize_by=certname"); len(rows) == 0 || rows[0]["successes"] == nil {
		e.T.Errorf("counts: %v", rows)
	}
	if list := e.Tool("events", "rejected", "list"); !strings.Contains(list, "a string is expected") {
		e.T.Errorf("rejected: %s", list)
	}
	e.sends(200, e.events+e2e.Submission+"&secondsToWaitForCompletion=60", "", string(e2e.AgentRunAt("a.example.com", 50)), "Content-Type", "application/json")
	if rows := query("reports"); len(rows) != 4 {
		e.T.Errorf("%d reports after another one", len(rows))
	}
}

// json sends a JSON object and returns the answer, which must have a status below 300.
func (e *earlier) json(method, address, body string, header ...string) gjson.Result {
	e.T.Helper()
	a := e2e.Do(e.T, e2e.Client, method, address, "", body, append([]string{"Content-Type", "application/json"}, header...)...)
	if a.Status >= http.StatusMultipleChoices || a.Err != nil {
		e.T.Fatalf("%s %s: %d %s %v", method, address, a.Status, a.Body, a.Err)
	}
	return gjson.Parse(a.Body)
}

// tokens requests tokens from the authorization server as the application.
func (e *earlier) tokens(pairs ...string) gjson.Result {
	e.T.Helper()
	form := url.Values{"client_id": {e.noted["client"]}, "client_secret": {e.noted["client_secret"]}}
	for pair := range slices.Chunk(pairs, 2) {
		form.Set(pair[0], pair[1])
	}
	a := e2e.Do(e.T, e2e.Client, http.MethodPost, e.authserver+"/oauth/token", "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if a.Status != http.StatusOK {
		e.T.Fatalf("tokens: %d %s", a.Status, a.Body)
	}
	return gjson.Parse(a.Body)
}

// approve lets ann sign in and allow the application to read her notes, and returns the code.
func (e *earlier) approve(verifier string) string {
	e.T.Helper()
	sum := sha256.Sum256([]byte(verifier))
	end := e2e.NewPerson(e.T, "ann@example.com", password, redirect).Approve(e.authserver + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {e.noted["client"]}, "redirect_uri": {redirect}, "scope": {"notes:read"}, "resource": {notes},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	return end.Query().Get("code")
}

// fillAuthserver adds a user, an application with a secret, and the tokens that it got with the user's approval.
func (e *earlier) fillAuthserver() {
	e.T.Helper()
	add := exec.CommandContext(e.T.Context(), e2e.Binary, "authserver", "user", "add", "ann@example.com")
	add.Dir, add.Env, add.Stdin = e.Dir, e.Env, strings.NewReader(password+"\n")
	if out, err := add.CombinedOutput(); err != nil {
		e.T.Fatalf("%v\n%s", err, out)
	}
	client := e.json(http.MethodPost, e.administration+"/admin/clients", `{"client_name":"Reader","redirect_uris":["`+redirect+`"],"scope":"notes:read",`+
		`"token_endpoint_auth_method":"client_secret_post","grant_types":["authorization_code","refresh_token","client_credentials"]}`)
	e.noted["client"], e.noted["client_secret"] = client.Get("client_id").Str, client.Get("client_secret").Str
	const verifier = "the-verifier-of-the-code-of-the-databases-of-releases"
	e.noted["refresh"] = e.tokens("grant_type", "authorization_code", "code", e.approve(verifier), "redirect_uri", redirect,
		"code_verifier", verifier).Get("refresh_token").Str
	e.noted["kid"] = e.json(http.MethodGet, e.authserver+"/.well-known/jwks.json", "").Get("keys.0.kid").Str
}

// lookAtAuthserver checks that the application gets tokens with its secret and its refresh token, that the user can
// sign in, and that the signing key is the same.
func (e *earlier) lookAtAuthserver() {
	e.T.Helper()
	e.has(e.authserver+"/.well-known/jwks.json", "", e.noted["kid"])
	e.tokens("grant_type", "client_credentials", "scope", "notes:read", "resource", notes)
	e.tokens("grant_type", "refresh_token", "refresh_token", e.noted["refresh"])
	const verifier = "the-verifier-of-a-code-after-the-upgrade-which-is-long-enough"
	e.tokens("grant_type", "authorization_code", "code", e.approve(verifier), "redirect_uri", redirect, "code_verifier", verifier)
	if clients := e.json(http.MethodGet, e.administration+"/admin/clients", ""); !strings.Contains(clients.Raw, `"Reader"`) {
		e.T.Errorf("the clients are %s", clients.Raw)
	}
}

// content calls the API for pages as the administrator.
func (e *earlier) content(method, path, body string) gjson.Result {
	e.T.Helper()
	token := e.json(http.MethodPost, e.cms+"/api/auth", `{"username":"ann","password":"`+e.noted["cms_password"]+`"}`).Get("jwt").Str
	return e.json(method, e.cms+"/api/content/"+path, body, "Authorization", "Bearer "+token)
}

// fillCMS adds an administrator, pages, a change of a page, and a webhook with a sealed secret.
func (e *earlier) fillCMS() {
	e.T.Helper()
	e.noted["cms_password"] = strings.TrimSpace(e.Tool("cms", "install", "--admin", "ann"))
	home := e.content(http.MethodGet, "path/home", "").Get("id").Raw
	e.content(http.MethodPatch, "pages/"+home, `{"title":"House"}`)
	e.content(http.MethodPost, "webhooks", `{"url":"http://127.0.0.1:9/page","topics":["page.changed"]}`)
}

// lookAtCMS checks that the administrator can sign in, that pages and webhooks are there, and that a page can be
// changed.
func (e *earlier) lookAtCMS() {
	e.T.Helper()
	home := e.content(http.MethodGet, "path/home", "")
	if home.Get("title").Str != "House" {
		e.T.Errorf("the page is %s", home.Raw)
	}
	if hooks := e.content(http.MethodGet, "webhooks", ""); !strings.Contains(hooks.Raw, "http://127.0.0.1:9/page") {
		e.T.Errorf("the webhooks are %s", hooks.Raw)
	}
	if changed := e.content(http.MethodPatch, "pages/"+home.Get("id").Raw, `{"title":"Home"}`); changed.Get("title").Str != "Home" {
		e.T.Errorf("changed is %s", changed.Raw)
	}
	if out := e.Tool("keyring", "re-encrypt", "--json"); !strings.Contains(out, `"unreadable": 0`) {
		e.T.Errorf("sealed values: %s", out)
	}
}

// ask asks the question.
func (e *earlier) ask() gjson.Result {
	e.T.Helper()
	return e.json(http.MethodPost, e.answer+"/v1/answer", `{"query":"`+question+`"}`, "X-Api-Key", e.noted["answer_key"])
}

// fillAnswer adds a few documents, a key and an answer.
func (e *earlier) fillAnswer() {
	e.T.Helper()
	e.Tool("answer", "sample", "shipped")
	folder := e.Path("shipped", "corpus", "tarnwick")
	for _, file := range []string{"call-2025.md", "report-2023.md", "report-2024.md", "report-2025.md", "news-2.md"} {
		if err := os.Remove(filepath.Join(folder, file)); err != nil { // keeps the dumps short
			e.T.Fatal(err)
		}
	}
	prices, err := os.ReadFile(filepath.Join(folder, "prices.csv"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "prices.csv"), bytes.Join(bytes.SplitN(prices, []byte("\n"), 5)[:4], []byte("\n")), 0o600)
	}
	if err != nil {
		e.T.Fatal(err)
	}
	e.Tool("answer", "ingest", folder)
	e.noted["answer_key"] = strings.TrimSpace(e.Tool("answer", "key", "create", "--label", "desk"))
	e.lookAtAnswer()
}

// lookAtAnswer checks that the key is valid and that the question is answered from the documents.
func (e *earlier) lookAtAnswer() {
	e.T.Helper()
	if a := e.ask(); !a.Get("success").Bool() || !strings.Contains(a.Raw, "1,372.7") {
		e.T.Errorf("the answer is %s", a.Raw)
	}
}
