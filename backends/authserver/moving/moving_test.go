package moving_test

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/scrypt"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/moving"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	pass   = "correct horse"
	secret = "a secret of an application"
)

// target is a database into which records are imported.
type target struct {
	authtest.Kernel
	moving.Target
	t *testing.T
}

func newTarget(t *testing.T, k authtest.Kernel) *target {
	t.Helper()
	master, err := encryption.NewMaster(strings.Repeat("0123456789abcdef", 4), "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := factors.New(k.Server, factors.Options{Encryptor: master})
	if err != nil {
		t.Fatal(err)
	}
	everybody := &users.Users{Server: k.Server, Passwords: authtest.Quick}
	return &target{k, moving.Target{
		Upstreams: upstreams.New(k.Server, upstreams.Options{Users: everybody}),
		Clients:   clients.New(k.Server, clients.Options{Hasher: authtest.Quick, Grants: []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient, clients.GrantDevice}}),
		Users:     everybody, Factors: f,
	}, t}
}

// applies imports a file and returns the outcomes of its records by their position in the file.
func (g *target) applies(read moving.Reader, file string, dry bool) map[string]moving.Line {
	g.t.Helper()
	lines := make(map[string]moving.Line)
	if err := g.Apply(g.t.Context(), read, strings.NewReader(file), moving.Options{DryRun: dry, By: "admin", Tell: func(l moving.Line) error {
		lines[l.Where] = l
		return nil
	}}); err != nil {
		g.t.Fatal(err)
	}
	return lines
}

// outcomes returns the outcomes of lines, sorted by position.
func outcomes(lines map[string]moving.Line) string {
	list := make([]string, 0, len(lines))
	for position, l := range lines {
		list = append(list, position+": "+l.Outcome)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// signsIn checks that a user can sign in with the password, twice: the first time it is hashed anew.
func (g *target) signsIn(email string) *users.User {
	g.t.Helper()
	var u *users.User
	for range 2 {
		var err error
		if u, err = g.Users.Verify(g.t.Context(), email, pass); err != nil {
			g.t.Fatalf("%s: %v", email, err)
		}
	}
	if _, err := g.Users.Verify(g.t.Context(), email, "a wrong one"); !errors.Is(err, users.ErrCredentials) {
		g.t.Errorf("%s: a wrong password: %v", email, err)
	}
	var stored string
	if err := g.Read(g.t.Context(), func(c store.Conn) error {
		return c.Row("SELECT password FROM authserver_users WHERE id = ?", u.ID).Scan(&stored)
	}); err != nil || authtest.Quick.Stale(stored) {
		g.t.Errorf("%s: the password is stored still as %s, error %v", email, stored, err)
	}
	return u
}

// authenticates checks that the client shop can authenticate with its secret.
func (g *target) authenticates() *clients.Client {
	g.t.Helper()
	const id = "shop"
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
	var c *clients.Client
	for range 2 {
		var err error
		if c, err = g.Clients.Authenticate(g.t.Context(), []string{basic}, kernel.Form{}); err != nil {
			g.t.Fatalf("%s: %v", id, err)
		}
	}
	wrong := "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":wrong"))
	if _, err := g.Clients.Authenticate(g.t.Context(), []string{wrong}, kernel.Form{}); err == nil {
		g.t.Errorf("%s: a wrong secret is accepted", id)
	}
	return c
}

var salt = []byte("0123456789abcdef")

func base(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

func pbkdf2Sum(t testing.TB, password string, iterations int) []byte {
	t.Helper()
	sum, err := pbkdf2.Key(sha512.New, password, salt, iterations, 64)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// realm returns an export of Keycloak in its documented format.
func realm(t testing.TB) string {
	t.Helper()
	quoted := func(text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	credential := func(kind, secret, data string) string {
		return `{"id": "x", "type": "` + kind + `", "secretData": ` + quoted(secret) + `, "credentialData": ` + quoted(data) + `}`
	}
	old := credential("password", `{"value":"`+base(pbkdf2Sum(t, pass, 1000))+`","salt":"`+base(salt)+`","additionalParameters":{}}`,
		`{"hashIterations":1000,"algorithm":"pbkdf2-sha512","additionalParameters":{}}`)
	current := credential("password", `{"value":"`+base(argon2.IDKey([]byte(pass), salt, 2, 64, 1, 32))+`","salt":"`+base(salt)+`","additionalParameters":{}}`,
		`{"hashIterations":2,"algorithm":"argon2","additionalParameters":{"hashLength":["32"],"memory":["64"],"type":["id"],"version":["1.3"],"parallelism":["1"]}}`)
	otp := credential("otp", `{"value":"sixteen of bytes"}`, `{"subType":"totp","digits":6,"counter":0,"period":30,"algorithm":"HmacSHA1"}`)
	strange := credential("password", `{"value":"AAAA","salt":"AAAA"}`, `{"hashIterations":1,"algorithm":"md5"}`)
	return `{"id": "shop", "realm": "shop", "roles": {"realm": [{"name": "admin"}]}, "groups": [{"name": "staff", "path": "/staff", "realmRoles": ["reader"], "subGroups": [{"name": "night", "path": "/staff/night", "clientRoles": {"shop": ["guard"]}}]}, {"name": "others", "path": "/others"}],
"clients": [
	{"clientId": "account", "enabled": true},
	{"clientId": "saml", "protocol": "saml"},
	{"clientId": "shop", "name": "The shop", "secret": "` + secret + `", "protocol": "openid-connect", "rootUrl": "https://shop.example",
		"redirectUris": ["/cb", "https://shop.example/*"], "standardFlowEnabled": true, "serviceAccountsEnabled": true, "directAccessGrantsEnabled": true,
		"attributes": {"post.logout.redirect.uris": "https://shop.example/##+", "backchannel.logout.url": "https://shop.example/told"},
		"defaultClientScopes": ["web-origins", "roles", "email"], "protocolMappers": [
			{"name": "shoe", "protocolMapper": "oidc-usermodel-attribute-mapper", "config": {"claim.name": "https://shop\\.example/shoe", "user.attribute": "shoe", "jsonType.label": "int", "id.token.claim": "true", "access.token.claim": "false"}},
			{"name": "issuer", "protocolMapper": "oidc-usermodel-attribute-mapper", "config": {"claim.name": "iss", "user.attribute": "shoe", "id.token.claim": "true"}},
			{"name": "fixed", "protocolMapper": "oidc-hardcoded-claim-mapper", "config": {"claim.name": "x", "id.token.claim": "true"}}]},
	{"clientId": "app", "publicClient": true, "redirectUris": ["com.example.app:/cb"], "standardFlowEnabled": true},
	{"clientId": "bare", "redirectUris": ["https://bare.example/cb"]},
	{"clientId": "masked", "secret": "**********", "redirectUris": ["https://masked.example/cb"]}
],
"users": [
	{"id": "8a2f7b3e-0000-4000-8000-000000000001", "username": "ann", "email": "ann@example.com", "emailVerified": true, "firstName": "Ann", "lastName": "Other",
		"enabled": true, "groups": ["/staff", "/staff/night"], "attributes": {"shoe": ["42"], "a b": ["c"]}, "realmRoles": ["default-roles-shop", "offline_access", "admin"], "clientRoles": {"account": ["view-profile"], "shop": ["buyer"]}, "credentials": [` + old + `, ` + otp + `]},
	{"id": "8a2f7b3e-0000-4000-8000-000000000002", "username": "bob@example.com", "enabled": false, "credentials": [` + current + `]},
	{"username": "service-account-shop", "serviceAccountClientId": "shop"},
	{"username": "nobody"},
	{"username": "eve", "email": "eve@example.com", "credentials": [` + strange + `]}
], "components": {"deep": [[{"x": []}]]}}`
}

// TestKeycloak imports a realm and checks that old passwords, secrets and codes still work.
func TestKeycloak(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		g := newTarget(t, k)
		file := realm(t)
		want := `clients[0] account: skipped
clients[1] saml: skipped
clients[2] shop: taken
clients[3] app: taken
clients[4] bare: refused
clients[5] masked: refused
group /staff/night: taken
group /staff: taken
users[0] ann: taken
users[1] bob@example.com: taken
users[2] service-account-shop: skipped
users[3] nobody: refused
users[4] eve: refused`
		if got := outcomes(g.applies(moving.Keycloak, file, true)); got != want {
			t.Errorf("a dry run:\n%s\nwant\n%s", got, want)
		}
		if _, err := g.Users.FindByEmail(t.Context(), "ann@example.com"); !users.IsNone(err) {
			t.Errorf("a dry run has stored a user, error %v", err)
		}
		lines := g.applies(moving.Keycloak, file, false)
		if got := outcomes(lines); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if notes := lines["clients[2] shop"].Notes; len(notes) != 4 || !strings.Contains(notes[1], "https://shop.example/*") ||
			!strings.Contains(notes[2], "the mapper issuer") || !strings.Contains(notes[3], "hardcoded") {
			t.Errorf("%q", notes)
		}
		if got := outcomes(g.applies(moving.Keycloak, file, false)); got != strings.ReplaceAll(want, "taken", "there") {
			t.Errorf("once more:\n%s", got)
		}

		shop := g.authenticates()
		if shop.Name != "The shop" || !slices.Equal(shop.Redirects, []string{"https://shop.example/cb"}) || !shop.May(clients.GrantClient) ||
			shop.Metadata.BackchannelLogout != "https://shop.example/told" || !slices.Equal(shop.Metadata.Logout, []string{"https://shop.example/"}) {
			t.Errorf("%+v", shop)
		}
		ann := g.signsIn("ann@example.com")
		if ann.ID != "8a2f7b3e-0000-4000-8000-000000000001" || ann.Name != "Ann Other" || !ann.EmailVerified || !slices.Equal(ann.Groups, []string{"staff", "staff/night"}) {
			t.Errorf("%+v", ann)
		}
		if notes := lines["users[0] ann"].Notes; len(notes) != 1 || !strings.Contains(notes[0], "a b") {
			t.Errorf("%q", notes)
		}
		g.takenOver(ann.ID, shop)
		code, err := totp.GenerateCode(base32.StdEncoding.EncodeToString([]byte("sixteen of bytes")), g.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Factors.Check(t.Context(), ann, "", factors.Proof{Code: code}); err != nil {
			t.Errorf("the code of the app: %v", err)
		}
		if _, err := g.Users.Verify(t.Context(), "bob@example.com", pass); !errors.Is(err, users.ErrCredentials) {
			t.Errorf("a disabled user can sign in: %v", err)
		}
		if _, err := g.Users.Enable(t.Context(), "8a2f7b3e-0000-4000-8000-000000000002", ""); err != nil {
			t.Fatal(err)
		}
		g.signsIn("bob@example.com")
	})
}

// takenOver checks the imported roles and attributes of Ann, and the imported claim rules of the shop.
func (g *target) takenOver(ann string, shop *clients.Client) {
	g.t.Helper()
	f, err := g.Users.Facts(g.t.Context(), ann)
	if err != nil {
		g.t.Fatal(err)
	}
	if strings.Join(f.Roles, " ") != "admin reader shop:buyer shop:guard" || len(f.Attributes) != 1 ||
		f.Attributes["shoe"][0] != "42" {
		g.t.Errorf("%+v", f)
	}
	const want = `{"":0,"https://shop.example/shoe":42,` +
		`"realm_access":{"roles":["admin","reader","shop:buyer","shop:guard"]},` +
		`"resource_access":{"shop":{"roles":["buyer","guard"]}}}`
	if text := claims.Make(shop.ClaimRules(), f).Append([]byte(`{"":0}`)); string(text) != want {
		g.t.Errorf("the shop has the rules %s, want %s", text, want)
	}
}

// TestHydra imports clients in each of the supported forms.
func TestHydra(t *testing.T) {
	t.Parallel()
	sum, err := pbkdf2.Key(sha256.New, secret, salt, 1000, 32)
	if err != nil {
		t.Fatal(err)
	}
	hash := "$pbkdf2-sha256$i=1000,l=32$" + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(sum)
	row := `{"id": "shop", "client_name": "The shop", "client_secret": "` + hash + `", "redirect_uris": "https://shop.example/cb|https://shop.example/cb2",
		"grant_types": "authorization_code|refresh_token|client_credentials|implicit", "response_types": "code", "scope": "openid read", "token_endpoint_auth_method": "client_secret_basic", "jwks": {}}`
	client := `{"client_id": "shop", "client_name": "The shop", "client_secret": "` + hash + `", "redirect_uris": ["https://shop.example/cb", "https://shop.example/cb2"],
		"grant_types": ["authorization_code", "refresh_token", "client_credentials"], "scope": "openid read"}`
	bare := `{"client_id": "bare", "redirect_uris": ["https://bare.example/cb"], "grant_types": ["authorization_code"]}`
	for name, file := range map[string]string{
		"rows": row + "\n" + bare + "\n", "array": " [" + client + "," + bare + "]", "items": `{"items": [` + client + "," + bare + "]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
				g := newTarget(t, k)
				if got := outcomes(g.applies(moving.Hydra, file, false)); got != "clients[0] shop: taken\nclients[1] bare: refused" {
					t.Errorf("%s", got)
				}
				c := g.authenticates()
				if c.Name != "The shop" || len(c.Redirects) != 2 || !slices.Equal(c.Scope, []string{"openid", "read"}) || !c.May(clients.GrantClient) || c.May("implicit") {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// TestKeycloakSecurityKeys checks that the password of a user is not imported if the second factor cannot be imported.
func TestKeycloakSecurityKeys(t *testing.T) {
	t.Parallel()
	const password, app = `{"type":"password","secretData":"{\"value\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\",\"salt\":\"MDEyMzQ1Njc4OWFiY2RlZg==\"}","credentialData":"{\"hashIterations\":27500,\"algorithm\":\"pbkdf2-sha256\"}"}`,
		`{"type":"otp","secretData":"{\"value\":\"sixteen of bytes\"}","credentialData":"{}"}`
	for _, test := range []struct {
		name, credentials string
		password          bool
	}{
		{"password", password, true},
		{"password and key", password + `,{"type":"webauthn"}`, false},
		{"key before password", `{"type":"webauthn"},` + password, false},
		{"password, app and key", password + "," + app + `,{"type":"webauthn"}`, true},
		{"password or key", password + `,{"type":"webauthn-passwordless"}`, true},
	} {
		if err := moving.Keycloak(strings.NewReader(`{"users":[{"username":"ann","email":"ann@example.com","credentials":[`+test.credentials+`]}]}`), func(r moving.Record) error {
			if r.User == nil || (r.User.Hash != "") != test.password {
				t.Errorf("%s: %+v", test.name, r)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestCSV imports users from CSV.
func TestCSV(t *testing.T) {
	t.Parallel()
	quick, err := bcrypt.GenerateFromPassword([]byte(pass), 10)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := scrypt.Key([]byte(pass), salt, 1<<4, 8, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	slow := "$scrypt$ln=4,r=8,p=1$" + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(sum)
	file := "\ufeffid,email,name,email_verified,password_hash,groups,totp,disabled,roles,attributes.shoe\r\n" +
		fmt.Sprintf("1,ann@example.com,\"Other, Ann\",true,%s,staff;night,%s,,admin;reader,42;43\r\n", quick, "JBSWY3DPEHPK3PXP") +
		fmt.Sprintf(",bob@example.com,,,\"%s\",,,false,,\r\n", slow) +
		",no address,,,,,,,,\r\n,eve@example.com,,yes,,,,,,\r\n,mallory@example.com,,,$2b$04$short,,,,,\r\n"
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		g := newTarget(t, k)
		lines := g.applies(moving.CSV, file, false)
		if got := outcomes(lines); got != "line 2 ann@example.com: taken\nline 3 bob@example.com: taken\nline 4 no address: refused\n"+
			"line 5 eve@example.com: refused\nline 6 mallory@example.com: refused" {
			t.Errorf("%s", got)
		}
		if ann := g.signsIn("ann@example.com"); ann.ID != "1" || ann.Name != "Other, Ann" || !slices.Equal(ann.Groups, []string{"staff", "night"}) {
			t.Errorf("%+v", ann)
		}
		f, err := g.Users.Facts(t.Context(), "1")
		if err != nil || !slices.Equal(f.Roles, []string{"admin", "reader"}) ||
			!slices.Equal(f.Attributes["shoe"], []string{"42", "43"}) {
			t.Errorf("%+v, error %v", f, err)
		}
		g.signsIn("bob@example.com")
	})
	g := newTarget(t, authtest.SQLite(t))
	for _, file := range []string{"", "name\n", "email,nothing\n", "email\na@example.com,b\n", "email\n" + strings.Repeat("a", 2<<20) + "\n", "email\n\"a@example.com\n" + strings.Repeat("b@example.com\n", 100_000)} {
		if err := g.Apply(t.Context(), moving.CSV, strings.NewReader(file), moving.Options{Tell: func(moving.Line) error { return nil }}); err == nil {
			t.Errorf("%q is accepted", file)
		}
	}
}

// TestCostlyHashes checks that password hashes that would take too much memory or time are refused.
func TestCostlyHashes(t *testing.T) {
	t.Parallel()
	g := newTarget(t, authtest.SQLite(t))
	began := time.Now()
	for _, hash := range []string{
		"$pbkdf2-sha512$i=900000000,l=64$AAAA$" + base64.RawStdEncoding.EncodeToString(make([]byte, 64)),
		"$scrypt$ln=30,r=8,p=1$AAAA$" + base64.RawStdEncoding.EncodeToString(make([]byte, 32)),
		"$scrypt$ln=14,r=100000,p=1$AAAA$" + base64.RawStdEncoding.EncodeToString(make([]byte, 32)),
		"$argon2id$v=19$m=262144,t=64,p=1$AAAA$" + base64.RawStdEncoding.EncodeToString(make([]byte, 32)),
		"$scrypt$ln=17,r=8,p=16$AAAA$" + base64.RawStdEncoding.EncodeToString(make([]byte, 32)),
		"$argon2id$v=19$m=900000000,t=1,p=1$AAAA$" + base64.RawStdEncoding.EncodeToString(make([]byte, 32)),
	} {
		if got := g.applies(moving.CSV, "email,password_hash\na@example.com,\""+hash+"\"\n", false)["line 2 a@example.com"]; got.Outcome != moving.Refused {
			t.Errorf("%s: %+v", hash, got)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// FuzzReaders checks that readers do not panic.
func FuzzReaders(f *testing.F) {
	f.Add([]byte(realm(f)))
	f.Add([]byte(`[{"client_id": "a", "redirect_uris": "[\"b\"]"}]`))
	f.Add([]byte("email,groups\na@example.com,b;c\n"))
	f.Fuzz(func(_ *testing.T, file []byte) {
		for _, read := range moving.Readers() {
			_ = read(strings.NewReader(string(file)), func(moving.Record) error { return nil })
		}
	})
}

// TestAppsNeedEncryption checks that a user whose app secret cannot be sealed is refused, also in a dry run, and that
// the import continues.
func TestAppsNeedEncryption(t *testing.T) {
	t.Parallel()
	g := newTarget(t, authtest.SQLite(t))
	var err error
	if g.Factors, err = factors.New(g.Server, factors.Options{}); err != nil {
		t.Fatal(err)
	}
	file := "email,totp,password_hash,id\na@example.com,JBSWY3DPEHPK3PXPJBSWY3DP,,\nb@example.com,,,7\nc@example.com,,,7\nd\x00@example.com,,,\n"
	for _, dry := range []bool{true, false} {
		got := g.applies(moving.CSV, file, dry)
		if l := got["line 2 a@example.com"]; l.Outcome != moving.Refused || !strings.Contains(l.Why, "data_encryption.driver") {
			t.Errorf("%+v", l)
		}
		if got["line 3 b@example.com"].Outcome != moving.Taken || got["line 5 d\x00@example.com"].Outcome != moving.Refused {
			t.Errorf("%+v", got)
		}
		if l := got["line 4 c@example.com"]; !dry && (l.Outcome != moving.Refused || !strings.Contains(l.Why, "this id")) {
			t.Errorf("%+v", l)
		}
	}
	if _, err := g.Users.FindByEmail(t.Context(), "a@example.com"); !users.IsNone(err) {
		t.Errorf("a user was imported without their app, error %v", err)
	}
}
