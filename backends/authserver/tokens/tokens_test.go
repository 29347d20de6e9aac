package tokens_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestRedeem(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		answer := s.start(t, s.client)
		if answer.ExpiresIn != 15*time.Minute || answer.Scope != "read write" || answer.Refresh == "" {
			t.Errorf("%+v", answer)
		}
		now := s.Clock.Now()
		got := claims(t, answer.AccessToken)
		jti, _ := got["jti"].(string)
		delete(got, "jti")
		if want := map[string]any{
			"iss": authtest.Issuer, "sub": "ann", "aud": []any{"https://api.example/mail", "https://api.example/files"}, "exp": float64(now.Add(15 * time.Minute).Unix()),
			"iat": float64(now.Unix()), "client_id": s.client.ID, "scope": "read write", "auth_time": float64(now.Add(-time.Minute).Unix()),
		}; !reflect.DeepEqual(got, want) || len(jti) < 40 {
			t.Errorf("%v\nwant %v", got, want)
		}
		if !s.live(t, answer.AccessToken) {
			t.Error("the token is not active")
		}
		list, err := s.Issuances(t.Context(), tokens.IssuanceFilter{User: "ann", Resource: s.files.ID, Live: true}, kernel.Page{Limit: 10, Newest: true})
		if err != nil || len(list) != 1 || list[0].JTI != jti || list[0].Client != s.client.ID {
			t.Errorf("%+v, error %v", list, err)
		}
		// The token is for one resource, named by its slug.
		r := s.redemption(s.client, s.code(t, s.grant(s.client)))
		r.Resources = []string{"mail"}
		if answer, err = s.Redeem(t.Context(), r); err != nil || claims(t, answer.AccessToken)["aud"] != "https://api.example/mail" {
			t.Errorf("%+v, error %v", answer, err)
		}
		// Without a resource the token is for the server itself.
		g := s.grant(s.client)
		g.Resources = nil
		if answer, err = s.Redeem(t.Context(), s.redemption(s.client, s.code(t, g))); err != nil || claims(t, answer.AccessToken)["aud"] != authtest.Issuer {
			t.Errorf("%+v, error %v", answer, err)
		}
		// A client without the refresh grant gets no refresh token, and its access token is revoked if its code is used
		// again.
		only := &clients.Client{Name: "O", AuthMethod: clients.MethodNone, Grants: []string{clients.GrantCode}, Source: clients.Admin, Agent: true}
		if _, err := s.clients.Create(t.Context(), only); err != nil {
			t.Fatal(err)
		}
		code := s.code(t, s.grant(only))
		if answer, err = s.Redeem(t.Context(), s.redemption(only, code)); err != nil || answer.Refresh != "" || claims(t, answer.AccessToken)["agent_id"] != only.ID {
			t.Errorf("%+v, error %v", answer, err)
		}
		_, err = s.Redeem(t.Context(), s.redemption(only, code))
		refused(t, err, "invalid_grant")
		if s.live(t, answer.AccessToken) || s.Events.Count("code.reuse_detected") != 1 {
			t.Error("the token is still active")
		}
		s.Clock.Pass(24 * time.Hour)
		if n, err := s.Sweep(t.Context()); err != nil || n == 0 {
			t.Errorf("%d swept, error %v", n, err)
		}
	})
}

// TestRedeemRefuses checks that a code remains valid after refused redemptions.
func TestRedeemRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), nil).fill(t)
	for name, test := range map[string]struct {
		change func(r *tokens.Redemption)
		want   string
	}{
		"client":            {func(r *tokens.Redemption) { r.Client = s.public }, "invalid_grant"},
		"redirect":          {func(r *tokens.Redemption) { r.RedirectURI += "/" }, "invalid_grant"},
		"no redirect":       {func(r *tokens.Redemption) { r.RedirectURI = "" }, "invalid_grant"},
		"verifier":          {func(r *tokens.Redemption) { r.Verifier = strings.ToUpper(verifier) }, "invalid_grant"},
		"no verifier":       {func(r *tokens.Redemption) { r.Verifier = "" }, "invalid_grant"},
		"challenge":         {func(r *tokens.Redemption) { r.Verifier = challenge(verifier) }, "invalid_grant"},
		"short verifier":    {func(r *tokens.Redemption) { r.Verifier = verifier[1:] }, "invalid_grant"},
		"verifier of signs": {func(r *tokens.Redemption) { r.Verifier = strings.Repeat("+", 43) }, "invalid_grant"},
		"resource":          {func(r *tokens.Redemption) { r.Resources = []string{"https://other.example"} }, "invalid_target"},
		"code":              {func(r *tokens.Redemption) { r.Code = challenge("x") }, "invalid_grant"},
		"empty code":        {func(r *tokens.Redemption) { r.Code = "" }, "invalid_grant"},
	} {
		good := s.redemption(s.client, s.code(t, s.grant(s.client)))
		bad := good
		test.change(&bad)
		_, err := s.Redeem(t.Context(), bad)
		if refused(t, err, test.want); t.Failed() {
			t.Fatal(name)
		}
		if _, err := s.Redeem(t.Context(), good); err != nil {
			t.Errorf("%s: the code is no longer valid: %v", name, err)
		}
	}
	// If the authorization request had no redirect URI, the redemption may contain the URI or not.
	for _, given := range []string{"", "https://c.example/cb"} {
		g := s.grant(s.client)
		g.RedirectGiven = false
		r := s.redemption(s.client, s.code(t, g))
		r.RedirectURI = given
		if _, err := s.Redeem(t.Context(), r); err != nil {
			t.Errorf("%q: %v", given, err)
		}
	}
	// Five wrong verifiers invalidate a code, four do not.
	for _, n := range []int{4, 5} {
		good := s.redemption(s.client, s.code(t, s.grant(s.client)))
		bad := good
		bad.Verifier = "wrong"
		for range n {
			_, err := s.Redeem(t.Context(), bad)
			refused(t, err, "invalid_grant")
		}
		if _, err := s.Redeem(t.Context(), good); (err == nil) != (n < 5) {
			t.Errorf("after %d wrong verifiers: error %v", n, err)
		}
	}
	// The code has expired.
	code := s.code(t, s.grant(s.client))
	s.Clock.Pass(time.Minute)
	_, err := s.Redeem(t.Context(), s.redemption(s.client, code))
	refused(t, err, "invalid_grant")
	// The code is bound to a key.
	g := s.grant(s.public)
	g.JKT = "key"
	r := s.redemption(s.public, s.code(t, g))
	_, err = s.Redeem(t.Context(), r)
	refused(t, err, "invalid_grant")
	r.JKT = "key"
	if answer, err := s.Redeem(t.Context(), r); err != nil || answer.JKT != "key" || !strings.Contains(string(answer.AppendJSON(nil)), `"token_type":"DPoP"`) {
		t.Errorf("%+v, error %v", answer, err)
	}
	// The user is inactive.
	code = s.code(t, s.grant(s.client))
	s.inactive = true
	s.Kernel.Tell("users", "ann")
	_, err = s.Redeem(t.Context(), s.redemption(s.client, code))
	refused(t, err, "invalid_grant")
}

// TestConsentGone checks that nothing is issued if a consent is withdrawn before the code is redeemed.
func TestConsentGone(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		exec := func(statement string, args ...any) {
			t.Helper()
			if err := s.Kernel.Write(t.Context(), func(c store.Conn) error { _, err := c.Exec(statement, args...); return err }); err != nil {
				t.Fatal(err)
			}
		}
		exec("INSERT INTO authserver_users (id, email, email_key, created_at, updated_at) VALUES ('ann', 'a', 'a', 0, 0)")
		exec("INSERT INTO authserver_consents (id, user_id, client_id, resource_id, scope, created_at, updated_at) VALUES ('c1', 'ann', ?, '', 'read', 0, 0)", s.client.ID)
		g := s.grant(s.client)
		g.Consents = []string{"c1"}
		first, err := s.Redeem(t.Context(), s.redemption(s.client, s.code(t, g)))
		if err != nil {
			t.Fatal(err)
		}
		code := s.code(t, g)
		exec("DELETE FROM authserver_consents WHERE id = 'c1'")
		_, err = s.Redeem(t.Context(), s.redemption(s.client, code))
		refused(t, err, "invalid_grant")
		for consent, want := range map[string]int{"other": 0, "c1": 1} {
			var ended []string
			err := s.Kernel.Write(t.Context(), func(c store.Conn) (err error) {
				ended, err = s.EndConsent(c, "ann", s.client.ID, s.mail.ID, consent)
				return err
			})
			s.Ended(consent, ended)
			if len(ended) != want || err != nil || want == 1 && s.live(t, first.AccessToken) {
				t.Errorf("%s: %d families, error %v", consent, len(ended), err)
			}
		}
	})
}

// TestParallel checks that only one of many concurrent uses of a code succeeds, and the same for a refresh token. The
// tokens it returned are revoked, since they may have gone to the wrong client.
func TestParallel(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		other := newServer(t, authtest.On(t, k.DB), nil) // another node
		race := func(attempt func(s *server) (tokens.Answer, error)) {
			t.Helper()
			won := make(chan tokens.Answer, 16)
			var all sync.WaitGroup
			for i := range 16 {
				node := s
				if i%2 == 1 {
					node = other
				}
				all.Go(func() {
					if answer, err := attempt(node); err == nil {
						won <- answer
					} else {
						refused(t, err, "invalid_grant")
					}
				})
			}
			all.Wait()
			if len(won) != 1 {
				t.Fatalf("%d requests succeeded", len(won))
			}
			answer := <-won
			if s.live(t, answer.AccessToken) && other.live(t, answer.AccessToken) {
				t.Error("the node that has revoked the successful request's access token considers it active")
			}
			for _, node := range []*server{s, other} {
				if node.Clock.Pass(kernel.CacheAge); node.live(t, answer.AccessToken) {
					t.Error("the successful request's access token is still active")
				}
			}
			_, err := s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: answer.Refresh})
			refused(t, err, "invalid_grant")
		}
		for range 5 {
			code := s.code(t, s.grant(s.client))
			race(func(node *server) (tokens.Answer, error) {
				return node.Redeem(context.WithoutCancel(t.Context()), s.redemption(s.client, code))
			})
			token := s.start(t, s.client).Refresh
			race(func(node *server) (tokens.Answer, error) {
				return node.Refresh(context.WithoutCancel(t.Context()), tokens.Renewal{Client: s.client, Token: token})
			})
		}
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		first := s.start(t, s.client)
		refresh := func(r tokens.Renewal) (tokens.Answer, error) { return s.Refresh(t.Context(), r) }
		r := tokens.Renewal{Client: s.client, Token: first.Refresh}
		// A refused refresh leaves the token valid.
		for name, test := range map[string]struct {
			change func(r *tokens.Renewal)
			want   string
		}{
			"scope":    {func(r *tokens.Renewal) { r.Scope = "read other" }, "invalid_scope"},
			"resource": {func(r *tokens.Renewal) { r.Resources = []string{"https://other.example"} }, "invalid_target"},
			"client":   {func(r *tokens.Renewal) { r.Client = s.public }, "invalid_grant"},
			"secret":   {func(r *tokens.Renewal) { r.Token = r.Token[:50] + strings.Repeat("A", 40) }, "invalid_grant"},
			"short":    {func(r *tokens.Renewal) { r.Token = r.Token[1:] }, "invalid_grant"},
			"id":       {func(r *tokens.Renewal) { r.Token = strings.Repeat("A", 26) + r.Token[26:] }, "invalid_grant"},
		} {
			bad := r
			test.change(&bad)
			if _, err := refresh(bad); err == nil {
				t.Errorf("%s is accepted", name)
			} else {
				refused(t, err, test.want)
			}
		}
		r.Scope, r.Resources = "read", []string{"files"}
		second, err := refresh(r)
		if err != nil || second.Scope != "read" || claims(t, second.AccessToken)["aud"] != "https://api.example/files" || second.Refresh == first.Refresh {
			t.Fatalf("%+v, error %v", second, err)
		}
		// A family keeps the whole scope of the grant, limited to the client's current ceiling.
		r = tokens.Renewal{Client: s.client, Token: second.Refresh}
		third, err := refresh(r)
		if err != nil || third.Scope != "read write" {
			t.Fatalf("%+v, error %v", third, err)
		}
		if _, err := s.clients.Edit(t.Context(), s.client.ID, func(c *clients.Client) error { c.Scope = []string{"write"}; return nil }); err != nil {
			t.Fatal(err)
		}
		now, err := s.clients.Find(t.Context(), s.client.ID)
		if err != nil {
			t.Fatal(err)
		}
		r = tokens.Renewal{Client: now, Token: third.Refresh, Scope: "read"}
		_, err = refresh(r)
		refused(t, err, "invalid_scope")
		r.Scope = ""
		fourth, err := refresh(r)
		if err != nil || fourth.Scope != "write" {
			t.Fatalf("%+v, error %v", fourth, err)
		}
		// If an old refresh token is used again, the family is revoked.
		for _, a := range []tokens.Answer{first, second, third, fourth} {
			if !s.live(t, a.AccessToken) {
				t.Error("a token was revoked early")
			}
		}
		_, err = refresh(tokens.Renewal{Client: now, Token: first.Refresh})
		refused(t, err, "invalid_grant")
		for _, a := range []tokens.Answer{first, second, third, fourth} {
			if s.live(t, a.AccessToken) {
				t.Error("a token is still active")
			}
		}
		_, err = refresh(tokens.Renewal{Client: now, Token: fourth.Refresh})
		refused(t, err, "invalid_grant")
		if n := s.Events.Count("family.revoked"); n != 1 {
			t.Errorf("%d events", n)
		}
		if list, err := s.Issuances(t.Context(), tokens.IssuanceFilter{Live: true}, kernel.Page{Limit: 10, Newest: true}); err != nil || len(list) != 0 {
			t.Errorf("%+v, error %v", list, err)
		}
		// Each use extends the lifetime of the family, which expires if unused.
		token := s.start(t, s.client).Refresh
		for range 3 {
			s.Clock.Pass(7*24*time.Hour - time.Second)
			answer, err := refresh(tokens.Renewal{Client: now, Token: token})
			if err != nil {
				t.Fatal(err)
			}
			token = answer.Refresh
		}
		s.Clock.Pass(7 * 24 * time.Hour)
		_, err = refresh(tokens.Renewal{Client: now, Token: token})
		refused(t, err, "invalid_grant")
	})
}

// TestGrace checks that a refresh token can be used again if the response was lost.
func TestGrace(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), func(o *tokens.Options) { o.Grace = 10 * time.Second }).fill(t)
	refresh := func(token string) (tokens.Answer, error) {
		return s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: token})
	}
	mustRefresh := func(token string) tokens.Answer {
		t.Helper()
		answer, err := refresh(token)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	original := s.start(t, s.client).Refresh
	answers := append(make([]tokens.Answer, 0, 4), mustRefresh(original))
	for range 3 {
		s.Clock.Pass(2 * time.Second)
		answers = append(answers, mustRefresh(original))
	}
	for _, a := range answers {
		if !s.live(t, a.AccessToken) {
			t.Error("a token was revoked")
		}
	}
	_, err := refresh(original) // the fourth use of the token
	refused(t, err, "invalid_grant")
	if s.live(t, answers[0].AccessToken) {
		t.Error("the family is still active")
	}
	// Any of the repeated responses may be the one that arrived.
	original = s.start(t, s.client).Refresh
	second := mustRefresh(original)
	mustRefresh(original)
	third := mustRefresh(second.Refresh)
	_, err = refresh(original) // no longer the previous token
	refused(t, err, "invalid_grant")
	if s.live(t, third.AccessToken) {
		t.Error("the family is still active")
	}
	original = s.start(t, s.client).Refresh
	mustRefresh(original)
	s.Clock.Pass(10*time.Second + time.Microsecond)
	_, err = refresh(original)
	refused(t, err, "invalid_grant")
}

// TestGraceHolders checks that two holders who use the same refresh token within the grace period both go on with their
// new tokens, until a token is used again after the grace period.
func TestGraceHolders(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, func(o *tokens.Options) { o.Grace = 10 * time.Second }).fill(t)
		refresh := func(token string) (tokens.Answer, error) {
			return s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: token})
		}
		mustRefresh := func(token string) tokens.Answer {
			t.Helper()
			answer, err := refresh(token)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		original := s.start(t, s.client).Refresh
		holders := [3]tokens.Answer{mustRefresh(original), mustRefresh(original), mustRefresh(original)}
		for i := range 20 {
			for h := range holders {
				s.Clock.Pass(time.Minute)
				used := holders[h].Refresh
				holders[h] = mustRefresh(used)
				if i%3 == 0 { // the response was lost
					s.Clock.Pass(9 * time.Second)
					holders[h] = mustRefresh(used)
				}
			}
		}
		// Holders may also alternate within the grace period, and each may have lost a response.
		first, second := holders[0].Refresh, holders[1].Refresh
		holders[0], holders[1] = mustRefresh(first), mustRefresh(second)
		holders[0], holders[1] = mustRefresh(first), mustRefresh(second)
		// All holders' access tokens are valid, and no theft was reported.
		for h := range holders {
			if !s.live(t, holders[h].AccessToken) {
				t.Errorf("holder %d has a revoked token", h)
			}
			if response, err := s.Introspect(t.Context(), s.client, holders[h].Refresh, ""); err != nil || !strings.Contains(string(response), `"active":true`) {
				t.Errorf("holder %d: %s, error %v", h, response, err)
			}
		}
		if n := s.Events.Count("family.revoked"); n != 0 {
			t.Errorf("%d families were revoked", n)
		}
		s.Clock.Pass(10*time.Second + time.Microsecond)
		_, err := refresh(first)
		refused(t, err, "invalid_grant")
		for h := range holders {
			_, err := refresh(holders[h].Refresh)
			refused(t, err, "invalid_grant")
			if s.live(t, holders[h].AccessToken) {
				t.Errorf("holder %d can still refresh", h)
			}
		}
	})
}

// TestGraceStored checks families in their former storage format, with one valid token and one previous token.
func TestGraceStored(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), func(o *tokens.Options) { o.Grace = 10 * time.Second }).fill(t)
	for after, good := range map[time.Duration]bool{9 * time.Second: true, 11 * time.Second: false} {
		original := s.start(t, s.client).Refresh
		second, err := s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: original})
		if err != nil {
			t.Fatal(err)
		}
		sum := func(text string) string {
			sum := sha256.Sum256([]byte(text))
			return base64.RawURLEncoding.EncodeToString(sum[:])
		}
		err = s.Kernel.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_families SET present = ?, previous = ?, graces = 1 WHERE id = ?", sum(second.Refresh), sum(original), original[:26])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Clock.Pass(after)
		if _, err = s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: original}); (err == nil) != good {
			t.Errorf("after %s: error %v", after, err)
		}
		if _, err = s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: second.Refresh}); (err == nil) != good {
			t.Errorf("the next token after %s: error %v", after, err)
		}
	}
}

// TestNoGraceStored checks that a family without a grace period stores only its token's digest, as earlier versions
// read it. Nodes of an earlier version that share the database would otherwise consider each token used.
func TestNoGraceStored(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), nil).fill(t)
	first := s.start(t, s.client).Refresh
	next, err := s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: first})
	if err != nil {
		t.Fatal(err)
	}
	var good, previous string
	err = s.Kernel.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT present, previous FROM authserver_families WHERE id = ?", first[:26]).Scan(&good, &previous)
	})
	sum := sha256.Sum256([]byte(next.Refresh))
	if err != nil || good != base64.RawURLEncoding.EncodeToString(sum[:]) || previous != "" {
		t.Errorf("%q and %q are stored, %v", good, previous, err)
	}
}

// TestGraceMany checks that the size of a family is bounded if responses are lost again and again.
func TestGraceMany(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), func(o *tokens.Options) { o.Grace = 10 * time.Second }).fill(t)
	token := s.start(t, s.client).Refresh
	for range 100 {
		var next tokens.Answer
		for range 4 {
			var err error
			if next, err = s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: token}); err != nil {
				t.Fatal(err)
			}
		}
		token = next.Refresh
		s.Clock.Pass(time.Second)
	}
	var size int
	err := s.Kernel.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT length(present) + length(previous) FROM authserver_families WHERE id = ?", token[:26]).Scan(&size)
	})
	if err != nil || size > 4<<10 {
		t.Errorf("%d characters, error %v", size, err)
	}
}

// TestGraceParallel checks that concurrent uses within the grace period are limited in the same way as consecutive
// ones.
func TestGraceParallel(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, func(o *tokens.Options) { o.Grace = 10 * time.Second }).fill(t)
		for n, live := range map[int]bool{4: true, 12: false} {
			token, won := s.start(t, s.client).Refresh, make(chan tokens.Answer, n)
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					answer, err := s.Refresh(context.WithoutCancel(t.Context()), tokens.Renewal{Client: s.client, Token: token})
					if err == nil {
						won <- answer
					} else {
						refused(t, err, "invalid_grant")
					}
				})
			}
			all.Wait()
			if len(won) != 4 {
				t.Errorf("%d of %d succeeded", len(won), n)
			}
			for range len(won) {
				if answer := <-won; s.live(t, answer.AccessToken) != live {
					t.Errorf("of %d: still active: %t", n, !live)
				}
			}
		}
	})
}

// TestPublicKey checks that the refresh tokens of a public client are bound to its key.
func TestPublicKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), nil).fill(t)
	for c, bound := range map[*clients.Client]bool{s.public: true, s.client: false} {
		r := s.redemption(c, s.code(t, s.grant(c)))
		r.JKT = "key"
		answer, err := s.Redeem(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Refresh(t.Context(), tokens.Renewal{Client: c, Token: answer.Refresh, JKT: "other"})
		if bound {
			refused(t, err, "invalid_dpop_proof")
			_, err = s.Refresh(t.Context(), tokens.Renewal{Client: c, Token: answer.Refresh, JKT: "key"})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestBoundLater checks that a refresh token that a public client gets with a proof is bound to its key, even if the
// code was redeemed without a proof (RFC 9449 section 5). Refresh tokens of other clients are not bound.
func TestBoundLater(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		for _, c := range []*clients.Client{s.public, s.client} {
			bare, err := s.Refresh(t.Context(), tokens.Renewal{Client: c, Token: s.start(t, c).Refresh})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := s.Refresh(t.Context(), tokens.Renewal{Client: c, Token: bare.Refresh, JKT: "key"})
			if err != nil || bound.JKT != "key" {
				t.Fatalf("%+v, error %v", bound, err)
			}
			for _, jkt := range []string{"", "other", "key"} {
				next, err := s.Refresh(t.Context(), tokens.Renewal{Client: c, Token: bound.Refresh, JKT: jkt})
				if c == s.public && jkt != "key" {
					refused(t, err, "invalid_dpop_proof")
					continue
				}
				if err != nil || next.JKT != jkt {
					t.Fatalf("with the key %q: %+v, error %v", jkt, next, err)
				}
				bound = next
			}
		}
	})
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		other := authtest.On(t, k.DB)
		otherServer := newServer(t, other, nil)
		revoke := func(c *clients.Client, text string) {
			t.Helper()
			if err := s.Revoke(t.Context(), c, text, ""); err != nil {
				t.Error(err)
			}
		}
		first := s.start(t, s.client)
		for _, text := range []string{"", "x", "a.b.c", first.Refresh[1:], strings.Repeat("A", 26) + first.Refresh[26:]} {
			revoke(s.client, text)
		}
		revoke(s.public, first.AccessToken)
		revoke(s.public, first.Refresh)
		if s.Events.Count("token.revoke_denied") != 2 || !s.live(t, first.AccessToken) {
			t.Error("another client has revoked the token")
		}
		revoke(s.client, first.AccessToken)
		if s.live(t, first.AccessToken) {
			t.Error("the access token is still active")
		}
		second, err := s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: first.Refresh})
		if err != nil || !s.live(t, second.AccessToken) {
			t.Fatalf("the family ended with one of its access tokens: %v", err)
		}
		revoke(s.client, second.Refresh)
		if s.live(t, second.AccessToken) {
			t.Error("the access token is still active")
		}
		_, err = s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: second.Refresh})
		refused(t, err, "invalid_grant")
		if n := s.Events.Count("token.revoked"); n != 2 {
			t.Errorf("%d events", n)
		}
		// Another node, which has read the state a moment ago, learns of a revocation within five seconds.
		third := s.start(t, s.client)
		own, err := s.Machine(t.Context(), s.client, []string{"read"}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.LiveOf(t.Context(), s.client.ID); n != 3 || err != nil {
			t.Errorf("%d are active, error %v", n, err)
		}
		otherServer.live(t, third.AccessToken)
		if n, err := s.RevokeClient(t.Context(), s.client.ID); n != 2 || err != nil {
			t.Errorf("%d revoked, error %v", n, err)
		}
		other.Clock.Pass(5 * time.Second)
		for _, text := range []string{third.AccessToken, own.AccessToken} {
			if s.live(t, text) || otherServer.live(t, text) {
				t.Error("a token is still active")
			}
		}
		if n, err := s.LiveOf(t.Context(), s.client.ID); n != 0 || err != nil {
			t.Errorf("%d are active, error %v", n, err)
		}
		// The user is signed out everywhere.
		fourth := s.start(t, s.client)
		s.live(t, fourth.AccessToken)
		if err := s.Kernel.Change(t.Context(), "users", "ann", func(c store.Conn) error { return s.EndUser(c, "ann") }); err != nil {
			t.Fatal(err)
		}
		if s.live(t, fourth.AccessToken) {
			t.Error("the token is still active")
		}
	})
}

// TestRevokeFamily checks that revoking a refresh token revokes all access tokens of its family, including those of
// refreshes, and no others.
func TestRevokeFamily(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		other := s.start(t, s.client)
		first := s.start(t, s.client)
		second, err := s.Refresh(t.Context(), tokens.Renewal{Client: s.client, Token: first.Refresh})
		if err != nil {
			t.Fatal(err)
		}
		s.start(t, s.client)
		if n, err := s.LiveOf(t.Context(), s.client.ID); n != 7 || err != nil { // four tokens of three families
			t.Errorf("%d are active, error %v", n, err)
		}
		if err := s.Revoke(t.Context(), s.client, second.Refresh, ""); err != nil {
			t.Fatal(err)
		}
		if n, err := s.LiveOf(t.Context(), s.client.ID); n != 4 || err != nil {
			t.Errorf("%d are active after one family of three has ended, error %v", n, err)
		}
		if s.live(t, first.AccessToken) || s.live(t, second.AccessToken) || !s.live(t, other.AccessToken) {
			t.Error("other tokens have ended than those of the family")
		}
	})
}

func TestIntrospect(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), nil).fill(t)
	runtime := &clients.Client{Name: "R", AuthMethod: clients.MethodBasic, Source: clients.Admin}
	if _, err := s.clients.Create(t.Context(), runtime); err != nil {
		t.Fatal(err)
	}
	s.mail = edit(t, s, runtime.ID)
	answer := s.start(t, s.client)
	ask := func(c *clients.Client, text string) map[string]any {
		t.Helper()
		raw, err := s.Introspect(t.Context(), c, text, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		if raw == nil {
			return nil
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return body
	}
	got := ask(s.client, answer.AccessToken)
	want := claims(t, answer.AccessToken)
	want["active"], want["token_type"], want["username"] = true, "Bearer", "ann@example.com"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if ask(runtime, answer.AccessToken) == nil || ask(s.public, answer.AccessToken) != nil {
		t.Error("the wrong clients may introspect")
	}
	want = map[string]any{"active": true, "client_id": s.client.ID, "scope": "read write", "exp": float64(s.Clock.Now().Add(7 * 24 * time.Hour).Unix()), "token_type": "refresh_token"}
	if got := ask(s.client, answer.Refresh); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if ask(runtime, answer.Refresh) != nil {
		t.Error("a refresh token of another client can be introspected")
	}
	// Introspections and refused introspections are each recorded once a minute.
	looked := func(want ...int) {
		t.Helper()
		ask(runtime, answer.AccessToken)
		ask(s.public, answer.AccessToken)
		for i, action := range []string{"token.introspected", "token.introspect_denied"} {
			if got := s.Events.Count(action); got != want[i] {
				t.Errorf("%s was recorded %d times, want %d", action, got, want[i])
			}
		}
	}
	looked(3, 2)
	s.Clock.Pass(time.Minute)
	looked(4, 3)
	for _, e := range s.Events.All() {
		if strings.HasPrefix(e.Action, "token.introspect") && (e.Actor == "" || e.Client != e.Actor || e.Address != "192.0.2.1" || len(e.Detail) != 2) {
			t.Errorf("%+v", e)
		}
	}
	for _, text := range []string{"", "x", answer.AccessToken + "x", answer.Refresh[:80]} {
		if got := ask(s.client, text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if _, err := s.clients.SetStatus(t.Context(), s.client.ID, clients.Suspended); err != nil {
		t.Fatal(err)
	}
	if ask(runtime, answer.AccessToken) != nil {
		t.Error("a token of a suspended client is active")
	}
	if _, err := s.clients.SetStatus(t.Context(), s.client.ID, clients.Active); err != nil {
		t.Fatal(err)
	}
	if ask(runtime, answer.AccessToken) == nil {
		t.Error("the token is not active")
	}
	s.inactive = true
	s.Kernel.Tell("users", "")
	if ask(runtime, answer.AccessToken) != nil || ask(s.client, answer.Refresh) != nil {
		t.Error("a token of a disabled user is active")
	}
	s.inactive = false
	s.Kernel.Tell("users", "")
	s.Clock.Pass(14 * time.Minute)
	if ask(s.client, answer.AccessToken) != nil {
		t.Error("an expired token is active")
	}
	// No token is reported active if the database cannot be read.
	fresh := s.start(t, s.client)
	if ask(s.client, fresh.AccessToken) == nil {
		t.Error("not active")
	}
	if err := s.Kernel.DB.Close(); err != nil {
		t.Fatal(err)
	}
	if raw, err := s.Introspect(t.Context(), s.client, fresh.AccessToken, "192.0.2.1"); err == nil {
		t.Errorf("without a database: %s", raw)
	}
}

// TestAnswerJSON checks the exact form of responses.
func TestAnswerJSON(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]tokens.Answer{
		`{"access_token":"a.b.c","token_type":"Bearer","expires_in":900}`: {AccessToken: "a.b.c", ExpiresIn: 15 * time.Minute},
		`{"access_token":"a","token_type":"DPoP","expires_in":60,"scope":"r \"w","refresh_token":"R","id_token":"I","issued_token_type":"urn:x"}`: {
			AccessToken: "a", JKT: "k", ExpiresIn: time.Minute, Scope: `r "w`, Refresh: "R", IDToken: "I", IssuedType: "urn:x",
		},
	} {
		if got := string(a.AppendJSON(nil)); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	s := newServer(f, authtest.SQLite(f), nil).fill(f)
	answer := s.start(f, s.client)
	f.Add(answer.AccessToken)
	f.Add(answer.Refresh)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := s.Introspect(t.Context(), s.client, text, "192.0.2.1")
		if err != nil || (got != nil) != (text == answer.AccessToken || text == answer.Refresh) {
			t.Fatalf("%q: %s, error %v", text, got, err)
		}
	})
}

// TestStart checks that a family without a code is started only for an active user, and not if spend fails.
func TestStart(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		g, errGone := s.grant(s.client), errors.New("it is gone")
		start := func(spend error) (tokens.Answer, error) {
			return s.Start(t.Context(), s.client, g, "device", "", "192.0.2.1", func(store.Conn) error { return spend })
		}
		answer, err := start(nil)
		if err != nil || !s.live(t, answer.AccessToken) {
			t.Fatalf("%+v, error %v", answer, err)
		}
		if _, err := start(errGone); !errors.Is(err, errGone) {
			t.Errorf("error %v", err)
		}
		s.mu.Lock()
		s.inactive = true // on another node, since this node caches the user as active
		s.mu.Unlock()
		_, err = start(nil)
		refused(t, err, kernel.InvalidGrant)
		var n int
		if err := k.Read(t.Context(), func(c store.Conn) error { return c.Row("SELECT count(*) FROM authserver_families").Scan(&n) }); err != nil || n != 1 {
			t.Errorf("%d families, error %v", n, err)
		}
	})
}

// TestDeniedByClockAhead checks that a node whose clock is ahead does not keep other nodes from noticing the
// revocations of nodes with correct clocks.
func TestDeniedByClockAhead(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, nil).fill(t)
		token, err := s.Machine(t.Context(), s.client, []string{"read"}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		deny := func(id string, moment time.Time) { // as another node does if its message is lost
			t.Helper()
			if err := k.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec("INSERT INTO authserver_denied (id, at, expires_at) VALUES (?, ?, ?)", id, moment.UnixMicro(), moment.Add(time.Hour).UnixMicro())
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		deny("another", s.Clock.Now().Add(5*time.Minute))
		if !s.live(t, token.AccessToken) {
			t.Error("the token is not active")
		}
		s.Clock.Pass(10 * time.Second)
		id, _ := claims(t, token.AccessToken)["jti"].(string)
		deny(id, s.Clock.Now())
		s.Clock.Pass(10 * time.Second)
		if s.live(t, token.AccessToken) {
			t.Error("the token is active although it was revoked")
		}
	})
}
