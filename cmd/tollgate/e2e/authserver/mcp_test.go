package authserver

import (
	"context"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// newMCPServer starts an MCP server that does not check tokens. Its only tool returns its argument, the user of the
// request, and the headers that must not arrive.
func newMCPServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	type input struct {
		Greeting string `json:"greeting"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets whoever asks"}, func(ctx context.Context, r *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: "half way", Progress: 0.5}); err != nil {
				return nil, nil, err
			}
		}
		h := r.Extra.Header
		text := strings.Join([]string{in.Greeting, h.Get("Remote-User"), h.Get("Authorization"), strings.Join(h["Remote_user"], "")}, "|")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(upstream.Close)
	return upstream
}

// forging sends forged headers that name another user.
type forging struct{ http.RoundTripper }

func (f forging) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Remote-User", "root")
	r.Header["Remote_user"] = []string{"root"}
	return f.RoundTripper.RoundTrip(r)
}

// TestMCP checks that a client of the MCP SDK that knows only the address of a server finds the authorization server,
// registers, signs somebody in and calls a tool, until the account is disabled.
func TestMCP(t *testing.T) {
	t.Parallel()
	upstream := newMCPServer(t)
	port, admin := e2e.FreePort(t), e2e.FreePort(t)
	n := e2e.ShippedAuthserver(t, "mcp", port, admin)
	n.Env = append(n.Env, "TOLLGATE_UPSTREAM="+strings.TrimPrefix(upstream.URL, "http://"))
	n.Start()
	e2e.AnswersWith(t, "http://localhost:"+admin+"/metrics", http.StatusOK)
	var user struct{ ID string }
	if err := json.Unmarshal([]byte(addAnn(n, "--json")), &user); err != nil {
		t.Fatal(err)
	}
	trusting := n.Trusting()
	trusting.Transport = forging{trusting.Transport}
	ann := newAnn(t)
	ann.Transport = trusting.Transport

	var attempts atomic.Int64
	errAway := errors.New("nobody is there to sign in")
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Notebook", RedirectURIs: []string{back}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}},
		RequestRefreshToken: true,
		Client:              trusting,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if attempts.Add(1) > 1 {
				return nil, errAway
			}
			answer := ann.Approve(args.URL).Query()
			return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	progress := make(chan string, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "notebook", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "https://localhost:" + port + "/mcp", HTTPClient: trusting, OAuthHandler: handler, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tools, err := session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "greet" {
		t.Errorf("%+v, error %v", tools, err)
	}
	call := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"greeting": "hello"}}
	call.SetProgressToken("p")
	result, err := session.CallTool(t.Context(), call)
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Fatalf("%+v, error %v", result, err)
	}
	if text, ok := result.Content[0].(*mcp.TextContent); !ok || text.Text != "hello|"+user.ID+"||" {
		t.Errorf("%+v", result.Content[0])
	}
	if message := <-progress; message != "half way" {
		t.Errorf("progress: %q", message)
	}
	if attempts.Load() != 1 {
		t.Errorf("asked %d times to sign in", attempts.Load())
	}

	if a := e2e.Do(t, e2e.Client, http.MethodPatch, "http://localhost:"+admin+"/admin/users/"+user.ID+"/disable", "", ""); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if result, err := session.CallTool(t.Context(), call); err == nil || attempts.Load() != 2 {
		t.Errorf("disabled: %+v, asked %d times", result, attempts.Load())
	}
	_ = session.Close() // returns an error, since the server refuses the token
	n.Stop()
}

// TestMCPDocument checks that an unregistered client of the MCP SDK that is identified by the URL of its metadata
// document can call a tool.
func TestMCPDocument(t *testing.T) {
	t.Parallel()
	upstream := newMCPServer(t)
	var document string
	var fetches atomic.Int64
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, document)
	}))
	t.Cleanup(site.Close)
	id := site.URL + "/notebook.json"
	document = `{"client_id":"` + id + `","client_name":"Notebook","redirect_uris":["` + back + `"]}`
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	port, admin := e2e.FreePort(t), e2e.FreePort(t)
	n := e2e.ShippedAuthserver(t, "mcp", port, admin)
	n.Env = append(n.Env, "TOLLGATE_UPSTREAM="+strings.TrimPrefix(upstream.URL, "http://"), "SSL_CERT_FILE="+roots, "AUTHSERVER_CIMD_ALLOW_PRIVATE_ADDRESSES=true")
	n.Start()
	e2e.AnswersWith(t, "http://localhost:"+admin+"/metrics", http.StatusOK)
	addAnn(n)
	trusting := n.Trusting()
	ann := newAnn(t)
	ann.Transport = trusting.Transport
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: id},
		RedirectURL:                    back,
		Client:                         trusting,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			answer := ann.Approve(args.URL).Query()
			return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "notebook", Version: "1.0.0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "https://localhost:" + port + "/mcp", HTTPClient: trusting, OAuthHandler: handler, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"greeting": "hello"}}); err != nil || result.IsError || fetches.Load() != 1 {
		t.Errorf("%+v, error %v, %d fetches", result, err, fetches.Load())
	}
	if a := e2e.Do(t, e2e.Client, http.MethodGet, "http://localhost:"+admin+"/admin/clients?source=cimd", "", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, id) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	n.Stop()
}

// newIdP starts an identity provider that issues an ID-JAG for alice and the client *client to everybody.
func newIdP(t *testing.T, client *string) *httptest.Server {
	t.Helper()
	key := jwkstest.NewEC(elliptic.P256())
	mux := http.NewServeMux()
	idp := httptest.NewServer(mux)
	t.Cleanup(idp.Close)
	answer := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, strings.ReplaceAll(`{"issuer":"$","authorization_endpoint":"$/authorize","token_endpoint":"$/token","jwks_uri":"$/keys","response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}`, "$", idp.URL))
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) { answer(w, jwkstest.Keys(jwkstest.JWK("k", key))) })
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		text := jwkstest.Sign(t, "ES256", key, map[string]any{"kid": "k", "typ": "oauth-id-jag+jwt"}, map[string]any{
			"iss": idp.URL, "sub": "alice", "aud": r.PostFormValue("audience"), "resource": r.PostFormValue("resource"), "scope": r.PostFormValue("scope"),
			"client_id": *client, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		})
		answer(w, `{"access_token":"`+text+`","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A","expires_in":60}`)
	})
	return idp
}

// TestMCPEnterprise checks that a client of the MCP SDK can call a tool for a user whom the company's identity provider
// vouches for, without an interaction with the user.
func TestMCPEnterprise(t *testing.T) {
	t.Parallel()
	upstream := newMCPServer(t)
	port, admin := e2e.FreePort(t), e2e.FreePort(t)
	n := e2e.ShippedAuthserver(t, "mcp", port, admin)
	n.Env = append(n.Env, "TOLLGATE_UPSTREAM="+strings.TrimPrefix(upstream.URL, "http://"), "AUTHSERVER_SERVER_ALLOW_NETWORKS=127.0.0.0/8")
	n.Start()
	e2e.AnswersWith(t, "http://localhost:"+admin+"/metrics", http.StatusOK)
	var user struct{ ID string }
	if err := json.Unmarshal([]byte(addAnn(n, "--json")), &user); err != nil {
		t.Fatal(err)
	}
	ask := func(path, body string) (made struct {
		ID       string `json:"id"`
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
	},
	) {
		t.Helper()
		a := e2e.Do(t, e2e.Client, http.MethodPost, "http://localhost:"+admin+"/admin"+path, "", body)
		if err := json.Unmarshal([]byte(a.Body), &made); a.Status != http.StatusCreated || err != nil {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		return made
	}
	client := ask("/clients", `{"client_name":"Notebook","grant_types":["urn:ietf:params:oauth:grant-type:jwt-bearer"],"token_endpoint_auth_method":"client_secret_post","scope":"mcp"}`)
	idp := newIdP(t, &client.ClientID)
	trusted := ask("/idps", `{"name":"Corp","issuer":"`+idp.URL+`"}`)
	greeted := func() string {
		t.Helper()
		trusting := n.Trusting()
		handler, err := extauth.NewEnterpriseHandler(&extauth.EnterpriseHandlerConfig{
			IdPIssuerURL: idp.URL, IdPCredentials: &oauthex.ClientCredentials{ClientID: "notebook-at-idp"},
			MCPAuthServerURL: "https://localhost:" + port, MCPResourceURI: "https://localhost:" + port + "/mcp", MCPScopes: []string{"mcp"},
			MCPCredentials: &oauthex.ClientCredentials{ClientID: client.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: client.Secret}},
			IDTokenFetcher: func(context.Context) (*oauth2.Token, error) {
				return new(oauth2.Token).WithExtra(map[string]any{"id_token": "who alice is there"}), nil
			},
			HTTPClient: trusting,
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "notebook", Version: "1.0.0"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: "https://localhost:" + port + "/mcp", HTTPClient: trusting, OAuthHandler: handler, MaxRetries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = session.Close() }()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"greeting": "hello"}})
		if err != nil || result.IsError || len(result.Content) != 1 {
			t.Fatalf("%+v, error %v", result, err)
		}
		text, _ := result.Content[0].(*mcp.TextContent)
		return text.Text
	}
	if got := greeted(); got != "hello|"+idp.URL+":alice||" {
		t.Errorf("%q", got)
	}
	ask("/xaa/subject-mappings", `{"idp_id":"`+trusted.ID+`","idp_subject":"alice","local_user_id":"`+user.ID+`"}`)
	if got := greeted(); got != "hello|"+user.ID+"||" {
		t.Errorf("mapped: %q", got)
	}
	n.Stop()
}
