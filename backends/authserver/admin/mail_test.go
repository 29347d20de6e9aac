package admin_test

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// mailEvents returns the details of an action's audit events, latest first.
func (a *api) mailEvents(action string) (details []string) {
	a.t.Helper()
	for _, row := range a.do("GET", "/audit?action="+action, "", 200)["events"].([]any) {
		details = append(details, row.(map[string]any)["detail"].(string))
	}
	return details
}

// TestMail checks the mail settings and counts that the administration API returns, and the requests for a test mail.
func TestMail(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		smtp := testenv.SMTP(t)
		smtp.Refuse("no@example.com", "550 no such user")
		a := newAPI(t, k, "mail: {url: 'smtp://"+smtp.Address+"', from: 'Ann <ann@example.com>', user: u, password: hush-hush}", nil)
		reply := a.do("GET", "/mail", "", 200)
		if reply["configured"] != true || reply["server"] != "smtp://"+smtp.Address || reply["from"] != "Ann <ann@example.com>" ||
			reply["waiting"] != float64(0) || strings.Contains(mustJSON(t, reply), "hush") {
			t.Errorf("%v", reply)
		}
		a.do("POST", "/users/invite", `{"email":"bob@example.com"}`, 201)
		if reply := a.do("GET", "/mail", "", 200); reply["waiting"] != float64(1) || reply["retrying"] != float64(0) {
			t.Errorf("%v", reply)
		}
		a.do("POST", "/mail/test", `{"email":"nothing"}`, 422)
		a.do("POST", "/mail/test", `{}`, 422)
	})
}

// TestSendTestMail checks the outcomes of a test mail, and that they are in the audit feed.
func TestSendTestMail(t *testing.T) {
	t.Parallel()
	smtp := testenv.SMTP(t)
	smtp.Refuse("no@example.com", "550 no such user")
	a := newAPI(t, authtest.SQLite(t), "mail: {url: 'smtp://"+smtp.Address+"', from: 'Ann <ann@example.com>'}", nil)
	if reply := a.do("POST", "/mail/test", `{"email":"me@example.com"}`, 200); reply["sent"] != true {
		t.Errorf("%v", reply)
	}
	if mails := smtp.Take(); len(mails) != 1 || mails[0].To != "me@example.com" || mails[0].From != "ann@example.com" {
		t.Errorf("%+v", mails)
	}
	refused := a.do("POST", "/mail/test", `{"email":"no@example.com"}`, 502)
	if !strings.Contains(refused["detail"].(string), "550") {
		t.Errorf("%v", refused)
	}
	if got := a.mailEvents("mail.sent"); len(got) != 1 || got[0] != "kind=test email=me@example.com" {
		t.Errorf("%q", got)
	}
	if got := a.mailEvents("mail.failed"); len(got) != 1 || !strings.HasPrefix(got[0], "kind=test email=no@example.com again=false reason=") ||
		!strings.Contains(got[0], "550") {
		t.Errorf("%q", got)
	}
	smtp.Close()
	a.do("POST", "/mail/test", `{"email":"me@example.com"}`, 502)

	bare := newAPI(t, authtest.SQLite(t), "", nil)
	if reply := bare.do("GET", "/mail", "", 200); reply["configured"] != false || reply["server"] != nil {
		t.Errorf("%v", reply)
	}
	bare.do("POST", "/mail/test", `{"email":"me@example.com"}`, 409)
}
