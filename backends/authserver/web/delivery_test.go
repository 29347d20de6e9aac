package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
)

// noted returns the actions and details of the mail events after the first after events, and the number of all events.
func (m *mailing) noted(after int) (list []string, all int) {
	events := m.Events.All()
	for _, e := range events[after:] {
		if strings.HasPrefix(e.Action, "mail.") {
			list = append(list, e.Action+" "+audit.Pairs(e.Detail))
		}
	}
	return list, len(events)
}

// TestMailsAreNoted checks that the audit feed contains which mails were sent and which failed.
func TestMailsAreNoted(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		b := m.browser()
		seen := 0
		forgot := func() []string {
			m.Clock.Pass(time.Hour)
			b.post("/forgot", with(b.get("/forgot").Fields(), "email", annMail)).is(t, http.StatusOK)
			_, _ = m.accounts.Send(t.Context()) // the outcome is in the feed
			var list []string
			list, seen = m.noted(seen)
			return list
		}
		detail := "kind=reset user=" + m.ann.ID
		if got := forgot(); !slices.Equal(got, []string{"mail.sent " + detail}) {
			t.Errorf("sent: %q", got)
		}
		m.smtp.Refuse(annMail, "550 no such user")
		if got := forgot(); len(got) != 1 || !strings.HasPrefix(got[0], "mail.failed "+detail+" again=false reason=") ||
			!strings.Contains(got[0], "550") {
			t.Errorf("refused: %q", got)
		}
		m.smtp.Refuse(annMail, "451 come again")
		if got := forgot(); len(got) != 1 || !strings.HasPrefix(got[0], "mail.failed "+detail+" again=true reason=") {
			t.Errorf("later: %q", got)
		}
		if waiting, err := m.accounts.Waiting(t.Context()); err != nil || waiting != (account.Waiting{Count: 1, Failed: 1}) {
			t.Errorf("waiting: %+v, %v", waiting, err)
		}
		// While the mail server is down, this is recorded only once.
		m.smtp.Close()
		if got := forgot(); len(got) != 1 || !strings.HasPrefix(got[0], "mail.failed again=true reason=") {
			t.Errorf("down: %q", got)
		}
		_, _ = m.accounts.Send(t.Context())
		if got, _ := m.noted(seen); len(got) != 0 {
			t.Errorf("down still: %q", got)
		}
	})
}
