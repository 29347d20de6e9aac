package main

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// These secrets are in the server's configuration. The seeded data is encrypted and signed with them.
const (
	issuerPepper = "a pepper of this benchmark"
	issuerSecret = "a session secret of this benchmark"
)

// seedIssuing fills the database of a server with a client and a user, and returns the client. The user is signed in
// and has allowed the client everything.
func seedIssuing(ctx context.Context, db *store.DB) (client oauthClient, err error) {
	k := authserver.Offline(db, time.Now)
	defer k.Close()
	k.Key, k.Logger = []byte(issuerSecret), zap.NewNop
	people := &users.Users{Server: k}
	const mail, pass = "bench@example.com", "a pass phrase of this benchmark"
	user, err := people.Create(ctx, users.New{Email: mail, Password: pass}, "bench")
	if err != nil {
		return client, err
	}
	notes := &resources.Resource{
		Slug: "notes", URI: "https://notes.example/mcp", Kind: resources.Mint,
		DisplayName: "Notes", Scopes: []resources.Scope{{Name: "notes:read"}, {Name: "notes:write"}},
	}
	if err := resources.New(k, resources.Options{}).Create(ctx, notes); err != nil {
		return client, err
	}
	grants := []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient, clients.GrantExchange}
	c := &clients.Client{
		Name: "Bench", AuthMethod: clients.MethodBasic, Grants: grants, Responses: []string{"code"},
		Redirects: []string{issuingBack}, Scope: []string{"notes:read"}, Source: clients.Admin,
	}
	known := clients.New(k, clients.Options{Pepper: []byte(issuerPepper), Grants: grants})
	secret, err := known.Create(ctx, c)
	if err == nil {
		_, err = known.Create(ctx, &clients.Client{
			ID: issuingDocument, Name: "Bench", AuthMethod: clients.MethodNone, Grants: grants[:2], Responses: []string{"code"},
			Redirects: []string{issuingBack},
			Source:    clients.Document, FreshUntil: time.Now().Add(time.Hour),
		})
	}
	if err != nil {
		return client, err
	}
	needs := []consent.Need{{Resource: notes.ID, Scope: c.Scope}}
	if _, err := (&consent.Consents{Server: k}).Approve(ctx, user.ID, c, needs, needs); err != nil {
		return client, err
	}
	signIn := login.New(k, people, login.Options{
		MaxAge: 24 * time.Hour, Failures: 10, Window: time.Minute,
		Lock: time.Minute, Identities: 100,
	})
	client.authorizePath, client.tokenPath, client.resource = "/oauth/authorize", tokenPath, "notes"
	cookie, _, err := signIn.SignIn(ctx, login.Attempt{Email: mail, Password: pass, Address: "127.0.0.1"})
	client.cookie = "authserver_session=" + cookie
	client.id, client.authorization = c.ID, "Authorization: Basic "+
		base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(c.ID)+":"+url.QueryEscape(secret)))+"\r\n"
	return client, err
}

// stored runs an SQL statement that selects a size in bytes, and returns the size.
func stored(ctx context.Context, db *store.DB, statement string) (n int64, err error) {
	err = db.Read(ctx, func(c store.Conn) error { return c.Row(statement).Scan(&n) })
	return n, err
}

// issuingBack is the redirect URI of the client.
const issuingBack = "https://client.example/back"

// issuingDocument is the client_id of a client that has a metadata document. According to the seeded database, the
// document was fetched recently.
const issuingDocument = "https://client.example/client.json"

// issuingVerifier is the code_verifier of all authorization codes.
var issuingVerifier = strings.Repeat("v", 43)
