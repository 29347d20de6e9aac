package keychain

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/modules/apiauth"
)

// The tests of this file do not run in parallel; see command_test.go.

// claimsOf returns the claims of a token that the keyring of the tests signed.
func claimsOf(t *testing.T, token string) jwt.MapClaims {
	t.Helper()
	master, err := keyring.ParseMasterKey(masterKey)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.NewAES(master)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ring.Derive(t.Context(), "user tokens")
	if err != nil {
		t.Fatal(err)
	}
	claims := make(jwt.MapClaims)
	if _, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return keys[0], nil }, jwt.WithValidMethods([]string{"HS256"})); err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestToken(t *testing.T) {
	l, file := sqliteCommandLine(t)
	for args, want := range map[string]time.Duration{
		"token alice":           12 * time.Hour,
		"token alice --ttl 90m": 90 * time.Minute,
		"token alice --ttl 30d": apiauth.MaxUserTokenTTL,
	} {
		out, notes := l.run(strings.Fields(args)...)
		token := strings.TrimSuffix(out, "\n")
		claims := claimsOf(t, token)
		life := claims["exp"].(float64) - claims["iat"].(float64)
		if claims["iss"] != apiauth.UserTokenIssuer || claims["sub"] != "alice" || life != want.Seconds() {
			t.Errorf("%s: %v", args, claims)
		}
		if strings.Contains(notes, token) || withoutRandomTexts(notes) != "The token is valid for alice until TIME.\n" {
			t.Errorf("%s: notes %q", args, notes)
		}
	}
	out, notes := l.run("token", "bob", "--json")
	var answer struct {
		User    string    `json:"user_id"`
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || notes != "" {
		t.Fatalf("%s: %v, notes %q", out, err, notes)
	}
	if claims := claimsOf(t, answer.Token); answer.User != "bob" || claims["sub"] != "bob" || int64(claims["exp"].(float64)) != answer.Expires.Unix() {
		t.Errorf("%s: %v", out, claims)
	}
	for args, want := range map[string]string{
		"token":                 "accepts 1 arg",
		"token a b":             "accepts 1 arg",
		"token alice --ttl 31d": "from 1s to 30d",
		"token alice --ttl 0s":  "from 1s to 30d",
		"token alice --ttl -1h": "from 1s to 30d",
		"token alice --ttl x":   "--ttl must be a duration",
	} {
		l.wantError(want, strings.Fields(args)...)
	}
	l.wantError("a user id has 1 to 200", "token", "")
	l.wantError("a user id has 1 to 200", "token", "a\nb")
	l.wantError("a user id has 1 to 200", "token", strings.Repeat("x", 201))
	if _, err := os.Stat(file); err == nil {
		t.Error("the command created a database")
	}
}

// TestTokenWithoutConfiguration checks the error if the configuration that was named does not exist.
func TestTokenWithoutConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, _, err := execute(t.Context(), "", "token", "alice", "-c", "none.json"); err == nil || !strings.Contains(err.Error(), "reading the configuration") {
		t.Errorf("error %v", err)
	}
}

// TestTokenWithLocalTokensOff checks the note about a configuration with `local off` everywhere.
func TestTokenWithLocalTokensOff(t *testing.T) {
	const strict, lax = `{"provider":{"provider":"user_jwt","disable_local":true}}`, `{"provider":{"provider":"user_jwt"}}`
	for handlers, want := range map[string]string{
		strict:             "This configuration has `local off`: none of its sites accepts the token.\n",
		strict + "," + lax: "The token is valid for alice until TIME.\n",
		"":                 "The token is valid for alice until TIME.\n",
	} {
		t.Chdir(t.TempDir())
		config := `{"apps":{"tollgate":{"keyring":{"ring":"aes","keys":["` + base64.StdEncoding.EncodeToString(make([]byte, 32)) + `"]}},` +
			`"http":{"servers":{"a":{"routes":[{"handle":[` + handlers + `]}]}}}}}`
		if err := os.WriteFile("config.json", []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		_, notes, err := execute(t.Context(), "", "token", "alice", "-c", "config.json")
		if err != nil || withoutRandomTexts(notes) != want {
			t.Errorf("%s: %q, %v", handlers, notes, err)
		}
	}
}
