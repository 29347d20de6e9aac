package authserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	golang "github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessType    = "urn:ietf:params:oauth:token-type:access_token"
)

// party is a client that exchanges tokens.
type party struct {
	*live
	config *oauth2.Config
}

// party registers a client with all grants that is trusted with tokens for the given resources.
func (l *live) party(name string, agent bool, trusted ...string) *party {
	l.t.Helper()
	text, err := json.Marshal(map[string]any{
		"client_name": name, "redirect_uris": []string{"https://" + name + ".example/cb"}, "grant_types": []string{"authorization_code", "client_credentials", exchangeGrant},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "client_secret_post", "scope": "openid read write send", "agent": agent,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	client := l.do("POST", "/admin/clients", string(text), 201)
	p := &party{l, &oauth2.Config{RedirectURL: "https://" + name + ".example/cb", Endpoint: oauth2.Endpoint{AuthURL: l.url + "/oauth/authorize", TokenURL: l.url + "/oauth/token"}}}
	p.config.ClientID, _ = client["client_id"].(string)
	p.config.ClientSecret, _ = client["client_secret"].(string)
	for _, slug := range trusted {
		l.do("POST", "/admin/resources/"+slug+"/policy/exchange/allowed-clients", `{"client_id":"`+p.config.ClientID+`"}`, http.StatusCreated)
	}
	return p
}

// signIn returns an access token with a scope for the resources with the given slugs, to which Ann has given consent.
func (p *party) signIn(scope string, slugs ...string) string {
	p.t.Helper()
	p.config.Scopes = strings.Fields(scope)
	target, err := url.Parse(p.config.Endpoint.AuthURL)
	if err != nil {
		p.t.Fatal(err)
	}
	target.RawQuery = url.Values{"resource": slugs}.Encode()
	c := *p.config
	c.Endpoint.AuthURL = target.String()
	form := p.redeem(&c)
	form.Set("client_secret", p.config.ClientSecret)
	answer := p.token(form)
	answer.is(p.t, "signing in", 200, "")
	return answer.text("access_token")
}

// exchange requests a token exchange, with further form fields as pairs.
func (p *party) exchange(subject string, more ...string) told {
	p.t.Helper()
	form := url.Values{
		"grant_type": {exchangeGrant}, "subject_token": {subject}, "subject_token_type": {accessType}, "client_id": {p.config.ClientID}, "client_secret": {p.config.ClientSecret},
	}
	var proofs []string
	for i := 0; i+1 < len(more); i += 2 {
		switch name, value := more[i], more[i+1]; name {
		case "DPoP":
			proofs = append(proofs, value)
		case "-":
			form.Del(value)
		case "resource", "audience":
			form.Add(name, value)
		default:
			form.Set(name, value)
		}
	}
	return p.token(form, proofs...)
}

// exchanged exchanges a token successfully and returns the new token and its claims.
func (p *party) exchanged(subject string, more ...string) (text string, claims golang.MapClaims) {
	p.t.Helper()
	answer := p.exchange(subject, more...)
	if answer.is(p.t, "exchange", 200, ""); answer.status != 200 {
		p.t.FailNow()
	}
	if answer.text("issued_token_type") != accessType || answer.body["refresh_token"] != nil {
		p.t.Errorf("%v", answer.body)
	}
	return answer.text("access_token"), (&enterprise{live: p.live}).token(answer.body)
}

// good reports whether introspection by the client says that a token is active.
func (p *party) good(token string) bool {
	p.t.Helper()
	answer := p.call(http.MethodPost, "/oauth/introspect", url.Values{"token": {token}, "client_id": {p.config.ClientID}, "client_secret": {p.config.ClientSecret}}, "")
	return answer.body["active"] == true
}

// actOf returns the claim act as JSON.
func actOf(claims golang.MapClaims) string {
	text, err := json.Marshal(claims["act"])
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestExchange checks that a service exchanges a token that it was sent, and that the service it calls does so again.
func TestExchange(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db, "token_exchange: {token_expiry: 5m, max_chain_depth: 2}")
		if d := l.do("GET", "/.well-known/oauth-authorization-server", "", 200); !strings.Contains(fmt.Sprint(d["grant_types_supported"]), exchangeGrant) {
			t.Errorf("%v", d)
		}
		l.do("POST", "/admin/resources", `{"slug":"notes","uri":"https://notes.example","backend_kind":"mint","scopes":[{"name":"read"},{"name":"write"}]}`, 201)
		app, service, robot := l.party("app", false), l.party("service", false, "files", "mail"), l.party("robot", true, "files", "notes")
		subject := app.signIn("read write send", "files", "mail")

		// The service acts for the app, with no more than the scopes that the target declares.
		text, claims := service.exchanged(subject, "audience", "files")
		if claims["sub"] != l.ann.ID || claims["client_id"] != service.config.ClientID || claims["aud"] != "https://files.example" || claims["scope"] != "read write" ||
			actOf(claims) != `{"actor_type":"service","client_id":"`+service.config.ClientID+`","sub":"`+service.config.ClientID+`"}` ||
			fmt.Sprint(claims["agent_chain"]) != "["+service.config.ClientID+"]" || claims["agent_id"] != nil {
			t.Errorf("%v", claims)
		}
		if left := claims["exp"].(float64) - claims["iat"].(float64); left != 300 {
			t.Errorf("good for %v seconds", left)
		}
		if _, claims := service.exchanged(subject, "resource", "https://files.example", "resource", "mail", "scope", "send read"); claims["scope"] != "send read" || fmt.Sprint(claims["aud"]) != "[https://files.example https://mail.example]" {
			t.Errorf("%v", claims)
		}

		// The next exchange needs Ann's consent to the app at which she signed in, not to the service that calls.
		service.signIn("read write", "notes")
		refused := robot.exchange(text, "resource", "notes", "scope", "read")
		refused.is(t, "no consent", 400, "consent_required")
		if refused.text("cause") != "consent_missing" || refused.text("consent_url") != l.url+"/oauth/authorize?resource=notes&scope=read" {
			t.Errorf("%v", refused.body)
		}
		app.signIn("read", "notes")
		refused = robot.exchange(text, "resource", "notes")
		if refused.is(t, "less granted", 400, "consent_required"); refused.text("cause") != "scope_insufficient" || refused.text("consent_url") != l.url+"/oauth/authorize?resource=notes&scope=write" {
			t.Errorf("%v", refused.body)
		}
		robot.exchanged(text, "resource", "notes", "scope", "read")
		last, claims := robot.exchanged(text, "resource", "files", "scope", "read")
		if claims["consent_client_id"] != app.config.ClientID {
			t.Errorf("%v", claims)
		}
		if actOf(claims) != `{"act":{"actor_type":"service","client_id":"`+service.config.ClientID+`","sub":"`+service.config.ClientID+`"},"actor_type":"agent","client_id":"`+robot.config.ClientID+`","sub":"`+robot.config.ClientID+`"}` ||
			fmt.Sprint(claims["agent_chain"]) != "["+service.config.ClientID+" "+robot.config.ClientID+"]" || claims["agent_id"] != robot.config.ClientID {
			t.Errorf("%v", claims)
		}
		deep := service.exchange(last, "resource", "files")
		if deep.is(t, "the third actor", 400, "invalid_request"); deep.text("error_description") != "delegation chain too deep" {
			t.Errorf("%v", deep.body)
		}
		// A client can exchange its own token again without a further actor.
		ownToken, claims := robot.exchanged(last, "resource", "files")
		if len(claims["agent_chain"].([]any)) != 2 || !robot.good(ownToken) {
			t.Errorf("%v", claims)
		}

		// The audit feed contains the exchanges and the refusals.
		reasons := fmt.Sprint(l.do("GET", "/admin/audit?action=token.exchange_denied", "", 200))
		if !strings.Contains(reasons, "chain_too_deep") || !strings.Contains(reasons, "consent_required") {
			t.Errorf("%s", reasons)
		}
		if list := l.do("GET", "/admin/audit?action=token.exchanged", "", 200)["events"].([]any); len(list) != 5 {
			t.Errorf("%v", list)
		}
		own := l.do("GET", "/admin/issuances?jti="+url.QueryEscape((&enterprise{live: l}).token(map[string]any{"access_token": last})["jti"].(string)), "", 200)["issuances"].([]any)[0].(map[string]any)
		if own["parent_jti"] == "" || own["consent_client_id"] != app.config.ClientID || fmt.Sprint(own["agent_chain"]) != "["+service.config.ClientID+" "+robot.config.ClientID+"]" {
			t.Errorf("%v", own)
		}

		// An actor token names the actor. In the claim act, its actors come before those of the subject token.
		machine := l.token(url.Values{"grant_type": {"client_credentials"}, "scope": {"read"}, "client_id": {service.config.ClientID}, "client_secret": {service.config.ClientSecret}}).text("access_token")
		if _, claims := service.exchanged(subject, "resource", "files", "actor_token", machine, "actor_token_type", accessType); !strings.Contains(actOf(claims), `"sub":"`+service.config.ClientID+`"`) {
			t.Errorf("%v", claims)
		}
		if _, claims := service.exchanged(subject, "resource", "files", "actor_token", text, "actor_token_type", accessType); actOf(claims) !=
			`{"act":{"actor_type":"service","client_id":"`+service.config.ClientID+`","sub":"`+service.config.ClientID+`"},"actor_type":"service","client_id":"`+service.config.ClientID+`","sub":"`+l.ann.ID+`"}` {
			t.Errorf("%v", claims)
		}
		// A machine's token is exchanged without a user's consent.
		if _, claims := service.exchanged(machine, "resource", "files"); claims["sub"] != service.config.ClientID || claims["act"] != nil {
			t.Errorf("%v", claims)
		}
	})
}

func TestExchangeRefusals(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t))
	l.do("POST", "/admin/resources", `{"slug":"far","backend_kind":"broker","scopes":[{"name":"read"}]}`, 201)
	app, service, stranger := l.party("app", false), l.party("service", false, "files"), l.party("stranger", false)
	subject, foreign := app.signIn("read write", "files"), newLive(t, databases.SQLite(t)).party("app", false).signIn("read", "files")
	machine := l.token(url.Values{"grant_type": {"client_credentials"}, "client_id": {app.config.ClientID}, "client_secret": {app.config.ClientSecret}}).text("access_token")
	for name, test := range map[string]struct {
		by      *party
		subject string
		form    string // names and values, separated by blanks
		code    string // the error code; empty: the exchange succeeds
	}{
		"good":                           {service, subject, "resource files", ""},
		"as a jwt":                       {service, subject, "resource files subject_token_type urn:ietf:params:oauth:token-type:jwt requested_token_type urn:ietf:params:oauth:token-type:jwt", ""},
		"no subject":                     {service, subject, "- subject_token", "invalid_request"},
		"no type":                        {service, subject, "- subject_token_type", "invalid_request"},
		"an id token":                    {service, subject, "subject_token_type urn:ietf:params:oauth:token-type:id_token", "invalid_request"},
		"a saml assertion wanted":        {service, subject, "resource files requested_token_type urn:ietf:params:oauth:token-type:saml2", "invalid_request"},
		"an actor without type":          {service, subject, "resource files actor_token " + machine, "invalid_request"},
		"a type without actor":           {service, subject, "resource files actor_token_type " + accessType, "invalid_request"},
		"nonsense":                       {service, "a.b.c", "resource files", "invalid_grant"},
		"cut short":                      {service, subject[:len(subject)-4], "resource files", "invalid_grant"},
		"of another server":              {service, foreign, "resource files", "invalid_grant"},
		"an actor of another client":     {service, subject, "resource files actor_token_type " + accessType + " actor_token " + machine, "invalid_grant"},
		"an unknown resource":            {service, subject, "resource nowhere", "invalid_target"},
		"a broker and another":           {service, subject, "resource files resource far", "invalid_target"},
		"a broker without provider":      {service, subject, "resource far", "access_denied"},
		"no resource":                    {service, subject, "scope read", "access_denied"},
		"not named by the resource":      {stranger, subject, "resource files", "access_denied"},
		"a resource that names nobody":   {stranger, subject, "resource mail", "access_denied"},
		"of its own, not named":          {app, subject, "resource files", "access_denied"},
		"of its own, nobody named":       {app, subject, "resource mail", "invalid_scope"},
		"of its own, no resource":        {app, subject, "scope read", "access_denied"},
		"a wider scope":                  {service, subject, "resource files scope delete", "invalid_scope"},
		"a scope of another resource":    {service, app.signIn("read send", "files", "mail"), "resource files scope send", "invalid_scope"},
		"nothing that the target has":    {service, app.signIn("send", "mail"), "resource files", "invalid_scope"},
		"an openid scope for a resource": {service, app.signIn("openid read", "files"), "resource files scope openid", "invalid_scope"},
	} {
		more := strings.Fields(test.form)
		answer := test.by.exchange(test.subject, more...)
		status := 400
		if test.code == "" {
			status = 200
		}
		answer.is(t, name, status, test.code)
	}
	public := l.do("POST", "/admin/clients", `{"client_name":"P","redirect_uris":["https://p.example/cb"],"grant_types":["authorization_code","`+exchangeGrant+`"],"token_endpoint_auth_method":"none"}`, 400)
	if public["status"] != 400.0 {
		t.Errorf("%v", public)
	}
	// A client that runs the resource may exchange tokens for it, too.
	l.do("POST", "/admin/resources/files/policy/runtime/client-ids", `{"client_id":"`+stranger.config.ClientID+`"}`, http.StatusCreated)
	stranger.exchanged(subject, "resource", "files")
	// Tokens of disabled users and suspended clients cannot be exchanged.
	l.do("PATCH", "/admin/users/"+l.ann.ID+"/disable", "", 200)
	service.exchange(subject, "resource", "files").is(t, "disabled", 400, "invalid_grant")
	l.do("PATCH", "/admin/users/"+l.ann.ID+"/enable", "", 200)
	l.do("PATCH", "/admin/clients/"+app.config.ClientID+"/suspend", "", 200)
	service.exchange(machine, "resource", "files").is(t, "suspended", 400, "invalid_grant")
	disabled := newLive(t, databases.SQLite(t), "token_exchange: {enabled: false}")
	disabled.token(url.Values{"grant_type": {exchangeGrant}, "client_id": {"x"}}).is(t, "off", 401, "invalid_client")
}

// TestExchangeOwn checks that with allow_self_exchange a client can narrow the scope of its tokens.
func TestExchangeOwn(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t), "token_exchange: {allow_self_exchange: true}")
	app := l.party("app", false)
	text, claims := app.exchanged(app.signIn("read write send openid", "files", "mail"), "scope", "read")
	if claims["scope"] != "read" || claims["act"] != nil || fmt.Sprint(claims["aud"]) != "[https://files.example https://mail.example]" || claims["auth_time"] == nil {
		t.Errorf("%v", claims)
	}
	app.exchange(text, "scope", "write").is(t, "wider again", 400, "invalid_scope")
	refused := told{}
	for range 40 {
		if refused = app.exchange(text); refused.status != 200 {
			break
		}
		text = refused.text("access_token")
	}
	refused.is(t, "again and again", 400, "invalid_request")
}

// TestExchangeOwnForBroker checks narrowing a token for a broker resource without naming the resource. The result is a
// narrower token, not a token of the provider, which the resource's policy might forbid.
func TestExchangeOwnForBroker(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t), `data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
token_exchange: {allow_self_exchange: true}
connect: {state_secret: 0123456789abcdef0123456789abcdef}
broker_providers: [{slug: maps, protocol: api_key, config_data: {header_name: X-Key}}]`)
	l.do("POST", "/admin/resources", `{"slug":"maps","uri":"https://maps.example","backend_kind":"broker","broker_provider_slug":"maps","scopes":[{"name":"see"},{"name":"draw"}],"policy":{"exchange":{"allowed_client_ids":["another"]}}}`, 201)
	l.do("PUT", "/admin/users/"+l.ann.ID+"/connections/maps", `{"api_key":"hush"}`, 204)
	app := l.party("app", false)
	l.do("PATCH", "/admin/clients/"+app.config.ClientID, `{"scope":"see draw read"}`, 200)
	for _, slugs := range [][]string{{"maps"}, {"maps", "files"}} {
		subject := app.signIn("see draw", slugs...)
		app.exchange(subject, "resource", "maps").is(t, "named", 400, "access_denied")
		if _, claims := app.exchanged(subject, "scope", "see"); claims["scope"] != "see" || !strings.Contains(fmt.Sprint(claims["aud"]), "https://maps.example") {
			t.Errorf("%v", claims)
		}
	}
}

// TestExchangeChain checks that after a chain of ten services an eleventh is refused. Revoking one of the tokens
// revokes the tokens derived from it, and no earlier ones.
func TestExchangeChain(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db, "token_exchange: {max_chain_depth: 10}")
		app := l.party("app", false)
		two := [2]*party{l.party("one", false, "files"), l.party("two", true, "files")}
		// chain returns a token of the app, followed by ten tokens that are derived from it one by one.
		chain := func(first string) (texts []string, last golang.MapClaims) {
			texts = append(make([]string, 0, 11), first)
			for i := range 10 {
				text, claims := two[i%2].exchanged(texts[i], "resource", "files", "scope", "read")
				texts, last = append(texts, text), claims
			}
			return texts, last
		}
		holders := func(i int) *party {
			if i == 0 {
				return app
			}
			return two[(i-1)%2]
		}
		alive := func(texts []string) (n int) {
			for i, text := range texts {
				if holders(i).good(text) {
					n++
				}
			}
			return n
		}
		texts, last := chain(app.signIn("read", "files"))
		if n := strings.Count(actOf(last), `"actor_type"`); n != 10 || len(last["agent_chain"].([]any)) != 8 {
			t.Errorf("%v", last)
		}
		two[0].exchange(texts[10], "resource", "files").is(t, "the eleventh", 400, "invalid_request")
		if n := alive(texts); n != 11 {
			t.Fatalf("%d are active", n)
		}
		revoke := func(p *party, text string) {
			p.do("POST", "/oauth/revoke", url.Values{"token": {text}, "client_id": {p.config.ClientID}, "client_secret": {p.config.ClientSecret}}.Encode(), 200)
		}
		revoke(holders(6), texts[6])
		if n := alive(texts); n != 6 || !two[0].good(texts[5]) {
			t.Errorf("%d are active after the sixth was revoked", n)
		}
		list := l.do("GET", "/admin/issuances?limit=100", "", 200)["issuances"].([]any)
		revoked := 0
		for _, issuance := range list {
			if issuance.(map[string]any)["revoked_at"] != nil {
				revoked++
			}
		}
		if revoked != 5 {
			t.Errorf("%d issuances are revoked", revoked)
		}
		revoke(app, texts[0])
		if n := alive(texts); n != 0 {
			t.Errorf("%d are active after the first was revoked", n)
		}

		// Ann withdraws her consent to the app, which ends the whole chain. Her consent to a service in the middle is
		// separate.
		two[0].signIn("read", "files")
		texts, _ = chain(app.signIn("read", "files"))
		grants := l.do("GET", "/admin/users/"+l.ann.ID+"/grants", "", 200)["consent_grants"].([]any)
		byClient := map[string]string{}
		for _, g := range grants {
			byClient[g.(map[string]any)["client_id"].(string)] = g.(map[string]any)["id"].(string)
		}
		l.do("DELETE", "/admin/grants/consent/"+byClient[two[0].config.ClientID], "", 204)
		if n := alive(texts); n != 11 {
			t.Errorf("%d are active after the consent to another client was withdrawn", n)
		}
		l.do("DELETE", "/admin/grants/consent/"+byClient[app.config.ClientID], "", 204)
		if n := alive(texts); n != 0 {
			t.Errorf("%d are active after the consent was withdrawn", n)
		}
		two[1].exchange(texts[1], "resource", "files").is(t, "after that", 400, "invalid_grant")

		// Tokens derived from the token of a suspended client cannot be exchanged.
		texts, _ = chain(app.signIn("read", "files"))
		l.do("PATCH", "/admin/clients/"+app.config.ClientID+"/suspend", "", 200)
		two[1].exchange(texts[1], "resource", "files").is(t, "the app is suspended", 400, "invalid_grant")
		l.do("PATCH", "/admin/clients/"+app.config.ClientID+"/reactivate", "", 200)

		// If a client is revoked, the tokens derived from its tokens end.
		texts, _ = chain(app.signIn("read", "files"))
		l.do("PATCH", "/admin/clients/"+two[1].config.ClientID+"/revoke", "", 200)
		if app.good(texts[0]) != true || two[0].good(texts[1]) != true || two[0].good(texts[3]) != false {
			t.Error("a token derived from a revoked client's token is active")
		}
		// All tokens end if the user is signed out everywhere.
		l.do("DELETE", "/admin/users/"+l.ann.ID+"/tokens", "", 200)
		if n := alive(texts); n != 0 {
			t.Errorf("%d are active after ann was signed out", n)
		}
	})
}

// TestExchangeProofs checks that a bound token can be exchanged only with its key, and that the new token is bound to
// the key of the request.
func TestExchangeProofs(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t))
	app, service := l.party("app", false), l.party("service", false, "files")
	own, other := l.prover(), l.prover()
	const path = "/oauth/token"
	app.config.Scopes = []string{"read"}
	form := l.redeem(app.config, oauth2.SetAuthURLParam("resource", "files"))
	form.Set("client_secret", app.config.ClientSecret)
	bound := l.token(form, own.proof("POST", path)).text("access_token")
	service.exchange(bound, "resource", "files").is(t, "no proof", 400, "invalid_dpop_proof")
	service.exchange(bound, "resource", "files", "DPoP", other.proof("POST", path)).is(t, "another key", 400, "invalid_dpop_proof")
	answer := service.exchange(bound, "resource", "files", "DPoP", own.proof("POST", path))
	if answer.is(t, "its key", 200, ""); answer.text("token_type") != "DPoP" {
		t.Errorf("%v", answer.body)
	}
	free := app.signIn("read", "files")
	_, claims := service.exchanged(free, "resource", "files", "DPoP", other.proof("POST", path))
	if fmt.Sprint(claims["cnf"]) != "map[jkt:"+other.thumbprint()+"]" {
		t.Errorf("%v", claims)
	}
	// An actor token that is bound to a key needs a proof, too.
	machine := url.Values{"grant_type": {"client_credentials"}, "client_id": {service.config.ClientID}, "client_secret": {service.config.ClientSecret}}
	actor := l.token(maps.Clone(machine), other.proof("POST", path)).text("access_token")
	service.exchange(free, "resource", "files", "actor_token", actor, "actor_token_type", accessType).is(t, "no proof of the actor", 400, "invalid_dpop_proof")
	service.exchanged(free, "resource", "files", "actor_token", actor, "actor_token_type", accessType, "DPoP", other.proof("POST", path))
}

// TestExchangeMachine checks that the token of a client for itself can be exchanged by the service that it calls. The
// subject remains the client, so that no user has to consent.
func TestExchangeMachine(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db)
		app, service, robot := l.party("app", false), l.party("service", false, "files"), l.party("robot", true, "files")
		machine := l.token(url.Values{"grant_type": {"client_credentials"}, "scope": {"read"}, "client_id": {app.config.ClientID}, "client_secret": {app.config.ClientSecret}}).text("access_token")
		text, claims := service.exchanged(machine, "resource", "files")
		if claims["sub"] != app.config.ClientID || claims["client_id"] != service.config.ClientID || !service.good(text) {
			t.Errorf("%v, good: %v", claims, service.good(text))
		}
		last, claims := robot.exchanged(text, "resource", "files")
		if claims["sub"] != app.config.ClientID || !robot.good(last) {
			t.Errorf("%v, good: %v", claims, robot.good(last))
		}
		for _, issuance := range l.do("GET", "/admin/issuances", "", 200)["issuances"].([]any) {
			if row := issuance.(map[string]any); row["subject_user_id"] != nil {
				t.Errorf("%v", row)
			}
		}
		// The tokens end if the machine's client is suspended.
		l.do("PATCH", "/admin/clients/"+app.config.ClientID+"/suspend", "", 200)
		if service.good(text) || robot.good(last) {
			t.Error("the token of a suspended machine is active")
		}
	})
}
