package authserver

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestMoveIn imports users and clients with the binary. The old passwords and secrets work, also after their first use,
// when they are hashed again.
func TestMoveIn(t *testing.T) {
	t.Parallel()
	issuer := "http://localhost:" + e2e.FreePort(t)
	n := e2e.NewNode(t, `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	tollgate {
		database sqlite data/tollgate.db
	}
}
`+issuer+" {\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t}\n}\n")
	n.WriteKeys("server: {issuer: '" + issuer + "'}\n")
	hash, err := bcrypt.GenerateFromPassword([]byte(annPassword), 10)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "the secret that it had before"
	salt := []byte("0123456789abcdef")
	sum, err := pbkdf2.Key(sha256.New, secret, salt, 25000, 32)
	if err != nil {
		t.Fatal(err)
	}
	raw := base64.RawStdEncoding
	for name, text := range map[string]string{
		"users.csv": "id,email,password_hash\nann-of-before," + annMail + "," + string(hash) + "\n",
		"clients.json": fmt.Sprintf(`{"id": "shop", "client_name": "The shop", "client_secret": "$pbkdf2-sha256$i=25000,l=32$%s$%s", "redirect_uris": "%s",
			"grant_types": "authorization_code|client_credentials", "scope": "openid", "token_endpoint_auth_method": "client_secret_post"}`+"\n", raw.EncodeToString(salt), raw.EncodeToString(sum), back),
	} {
		if err := os.WriteFile(n.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.Start()
	e2e.AnswersWith(t, issuer+"/readyz", http.StatusOK)
	for range 2 { // the second import changes nothing
		n.Tool("authserver", "import", "--from", "csv", "users.csv")
		n.Tool("authserver", "import", "--from", "hydra", "clients.json")
	}

	for range 2 {
		a := e2e.Do(t, e2e.Client, http.MethodPost, issuer+"/oauth/token", "",
			url.Values{"grant_type": {"client_credentials"}, "client_id": {"shop"}, "client_secret": {secret}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if a.Status != http.StatusOK || !strings.Contains(a.Body, "access_token") {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		shop := &application{t: t, id: "shop", secret: secret, ann: newAnn(t), scope: "openid"}
		location := shop.ann.Approve(issuer + "/oauth/authorize?" + url.Values{
			"response_type": {"code"}, "client_id": {"shop"}, "redirect_uri": {back}, "scope": {"openid"}, "state": {"s"},
			"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
		}.Encode())
		if !strings.HasPrefix(location.String(), back) {
			t.Errorf("it leads to %s", location)
		}
	}
	n.Stop()
	for _, hidden := range []string{annPassword, secret, string(hash)} {
		if strings.Contains(n.Logs.String(), hidden) {
			t.Error("a secret is in the log")
		}
	}
}

// challengeOf returns the S256 challenge of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
