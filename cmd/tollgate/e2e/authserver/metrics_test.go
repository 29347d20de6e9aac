package authserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// scraped returns the authserver metrics of the administration's listener. The keys are their names and labels without
// the prefix authserver_.
func scraped(t *testing.T, admin string) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for line := range strings.Lines(e2e.Get(t, e2e.Client, admin+"/metrics", "").Body) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if value, err := strconv.ParseFloat(text, 64); ok && err == nil && strings.HasPrefix(name, "authserver_") {
			all[strings.TrimPrefix(name, "authserver_")] = value
		}
	}
	return all
}

// TestAuthserverMetrics checks that each event is counted once.
func TestAuthserverMetrics(t *testing.T) {
	t.Parallel()
	n, base, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}
admin: {address: '127.0.0.1:ADMIN'}
rate_limit: {auth_fail_max: 1}
resources:
  - {slug: notes, uri: '`+notes+`', display_name: Notes, scopes: [{name: 'notes:read'}]}
`)
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	var user struct{ ID string }
	if err := json.Unmarshal([]byte(addAnn(n, "--json", "--config", "config.yaml", "--adapter", "authserver")), &user); err != nil {
		t.Fatal(err)
	}
	app := register(t, base)
	robot := create(t, admin, "Robot", app.ann)

	used := app.code(base) // includes a login and a consent
	first := app.grants(app.redeem(base, used))
	app.grants(app.refresh(base, first.Refresh))
	app.refuses("a refresh token that was used", app.refresh(base, first.Refresh))
	next := func() granted {
		t.Helper()
		code, err := app.codeAtOnce(base)
		if err != nil {
			t.Fatal(err)
		}
		used = code
		return app.grants(app.redeem(base, code))
	}
	next()
	app.refuses("a code that was used", app.redeem(base, used))
	app.revoke(base, next().Refresh)
	machine := robot.grants(robot.machine(base))
	if !robot.active(base, machine.Access) || robot.active(base, machine.Access+"x") {
		t.Error("introspection is wrong")
	}
	if a := robot.post(base, "/oauth/token", "grant_type", "client_credentials", "scope", "other"); a.Status != http.StatusBadRequest {
		t.Errorf("a scope that is not registered: %d %s", a.Status, a.Body)
	}
	wrong := &application{t: t, id: robot.id, secret: "wrong"}
	if a := wrong.machine(base); a.Status != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d %s", a.Status, a.Body)
	}
	next()
	var grants struct {
		Consents []struct{ ID string } `json:"consent_grants"`
	}
	administer(t, admin, http.MethodGet, "/admin/users/"+user.ID+"/grants", "", &grants)
	for _, consent := range grants.Consents {
		administer(t, admin, http.MethodDelete, "/admin/grants/consent/"+consent.ID, "", nil)
	}
	app.grants(app.redeem(base, app.code(base))) // includes a new consent
	administer(t, admin, http.MethodPatch, "/admin/users/"+user.ID+"/disable", "", nil)
	administer(t, admin, http.MethodPost, "/admin/keys/rotate", "", nil)
	administer(t, admin, http.MethodPatch, "/admin/clients/"+robot.id+"/revoke", "", nil)
	for range 2 {
		guess(t, base)
	}

	want := map[string]float64{
		`clients_registered_total{source="dcr"}`: 1, `clients_registered_total{source="admin"}`: 1,
		`login_attempts_total{outcome="success"}`: 1, `login_attempts_total{outcome="failure"}`: 1, `login_attempts_total{outcome="locked_out"}`: 1,
		`lockout_engaged_total`: 1, `lockout_tracked`: 1, `consent_decisions_total{decision="granted"}`: 2,
		`tokens_issued_total{grant_type="authorization_code"}`: 5, `tokens_issued_total{grant_type="client_credentials"}`: 1, `tokens_refreshed_total`: 1,
		`refresh_token_reuse_total`: 1, `auth_code_reuse_total`: 1,
		`tokens_revoked_total{reason="reuse"}`: 1, `tokens_revoked_total{reason="code_reuse"}`: 1, `tokens_revoked_total{reason="client"}`: 1, `tokens_revoked_total{reason="client_revoked"}`: 1,
		`tokens_revoked_total{reason="consent"}`: 1, `tokens_revoked_total{reason="user"}`: 1,
		`introspection_total{active="true"}`: 1, `introspection_total{active="false"}`: 1, `introspection_duration_seconds_count`: 2, `token_issuance_duration_seconds_count`: 7,
		`client_credentials_denied_total{reason="invalid_scope"}`: 1, `auth_denied_total{reason="invalid_client"}`: 1, `key_rotation_total`: 1, `audit_events_dropped_total`: 0,
		`http_requests_total{method="POST",route="/oauth/token",status="200"}`: 7, `http_requests_total{method="POST",route="/oauth/token",status="401"}`: 1,
		`http_requests_total{method="GET",route="/oauth/authorize",status="302"}`: 5, `http_requests_total{method="POST",route="/consent",status="303"}`: 2,
		`http_requests_total{method="POST",route="/login",status="303"}`: 1, `http_requests_total{method="POST",route="/login",status="422"}`: 1, `http_requests_total{method="POST",route="/login",status="429"}`: 1,
		`http_requests_total{method="POST",route="/admin/keys/rotate",status="200"}`: 1, `http_requests_total{method="PATCH",route="/admin/clients/{id}/revoke",status="200"}`: 1,
	}
	e2e.Eventually(t, e2e.WaitLimit, "all is counted", func() error { // the last request is counted after its answer
		got := scraped(t, admin)
		var wrong []error
		for name, value := range want {
			if count, ok := got[name]; !ok || count != value {
				wrong = append(wrong, fmt.Errorf("%s is %v, want %v", name, count, value))
			}
		}
		for _, op := range []string{"read", "write"} {
			if got[`db_operation_duration_seconds_count{op="`+op+`"}`] < 5 {
				wrong = append(wrong, fmt.Errorf("the database was measured too seldom: %s", op))
			}
		}
		if total := got["http_request_duration_seconds_count"]; total < 20 {
			wrong = append(wrong, fmt.Errorf("%v requests were measured", total))
		}
		return errors.Join(wrong...)
	})
	n.Stop()
}
