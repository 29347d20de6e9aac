package protocol_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestDevice checks the polling of a device until the user has decided.
func TestDevice(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, settings{devices: true})
		tv := &clients.Client{Name: "TV", AuthMethod: clients.MethodNone, Grants: []string{clients.GrantDevice, clients.GrantRefresh}, Source: clients.Admin}
		if _, err := s.clients.Create(t.Context(), tv); err != nil {
			t.Fatal(err)
		}
		start := func() string {
			t.Helper()
			a := s.post(t, "/oauth/device_authorization", values("client_id", tv.ID, "scope", "read", "resource", "mail"))
			if a.status != http.StatusOK || a.body["user_code"] == "" || a.body["verification_uri"] != authtest.Issuer+"/device" || a.body["interval"] != float64(5) {
				t.Fatalf("%d %s", a.status, a.text)
			}
			return a.body["device_code"].(string)
		}
		poll := func(client, code string) answer {
			return s.post(t, "/oauth/token", values("grant_type", clients.GrantDevice, "client_id", client, "device_code", code))
		}
		decide := func(status string, g tokens.Grant) {
			t.Helper()
			granted, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			err = k.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec("UPDATE authserver_devices SET status = ?, user_id = 'ann', granted = ? WHERE status = 'pending'", status, string(granted))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		code := start()
		poll(tv.ID, code).is(t, "first", 400, "authorization_pending")
		poll(tv.ID, code).is(t, "at once", 400, "slow_down")
		poll(s.public.ID, code).is(t, "a client without the grant", 400, "unauthorized_client")
		mail, err := s.catalog.Find(t.Context(), "mail")
		if err != nil {
			t.Fatal(err)
		}
		decide("allowed", tokens.Grant{Scope: []string{"read"}, Resources: []string{mail.ID}, AuthTime: k.Clock.Now()})
		k.Clock.Pass(10 * time.Second)
		var all sync.WaitGroup
		answers := make([]answer, 6)
		for i := range answers {
			all.Go(func() { answers[i] = poll(tv.ID, code) })
		}
		all.Wait()
		var a answer
		given := 0
		for _, got := range answers {
			if got.status == http.StatusOK {
				a, given = got, given+1
			} else {
				got.is(t, "one more", 400, "invalid_grant")
			}
		}
		if given != 1 || a.status != http.StatusOK || a.body["scope"] != "read" || a.body["refresh_token"] == nil {
			t.Fatalf("%d %s", a.status, a.text)
		}
		if a := s.post(t, "/oauth/token", values("grant_type", "refresh_token", "client_id", tv.ID, "refresh_token", a.body["refresh_token"].(string))); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.text)
		}
		poll(tv.ID, code).is(t, "again", 400, "invalid_grant")
		code = start()
		decide("denied", tokens.Grant{})
		poll(tv.ID, code).is(t, "denied", 400, "access_denied")
		s.post(t, "/oauth/token", values("grant_type", clients.GrantDevice, "client_id", tv.ID)).is(t, "no code", 400, "invalid_request")
		s.post(t, "/oauth/device_authorization", values("client_id", s.public.ID, "scope", "read")).is(t, "without the grant", 400, "unauthorized_client")
		s.post(t, "/oauth/device_authorization", values("client_id", tv.ID, "scope", "other")).is(t, "scope", 400, "invalid_scope")
		s.post(t, "/oauth/device_authorization", values("client_id", "x")).is(t, "unknown client", 401, "invalid_client")
	})
}
