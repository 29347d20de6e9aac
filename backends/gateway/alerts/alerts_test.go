package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{schema.Gateway()}}

// begin is a Sunday and the last day of a month, so that the next day begins another week and another month.
var begin = time.Date(2026, 5, 31, 10, 0, 0, 0, time.UTC)

// cluster is a gateway whose nodes share its database and its clock.
type cluster struct {
	t      *testing.T
	db     *store.DB
	ahead  atomic.Int64
	ledger *spending.Ledger
	usage  *spending.Log
	*keychain.Service
}

func (p *cluster) now() time.Time { return begin.Add(time.Duration(p.ahead.Load())) }

// advance sets the clock of all nodes forward.
func (p *cluster) advance(d time.Duration) { p.ahead.Add(int64(d)) }

func onBoth(t *testing.T, test func(t *testing.T, p *cluster)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		p := &cluster{t: t, db: db}
		p.ledger = spending.NewLedger(db, zap.NewNop(), p.now)
		p.Service = p.keychain()
		p.usage = spending.NewLog(p.ledger, p.KeyUses(), zap.NewNop()).Start()
		t.Cleanup(func() { _ = p.usage.Close(context.Background()) })
		test(t, p)
	})
}

func (p *cluster) keychain() *keychain.Service {
	p.t.Helper()
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		p.t.Fatal(err)
	}
	service, err := keychain.New(p.db, ring, p.ledger, zap.NewNop(), p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(service.Close)
	return service
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// node returns another node. The test runs its jobs itself.
func (p *cluster) node() *Service {
	p.t.Helper()
	sender := webhook.NewSender(loopback, zap.NewNop())
	p.t.Cleanup(sender.Close)
	return New(Deps{Keychain: p.keychain(), Sender: sender, Logger: zap.NewNop(), Now: p.now})
}

// user creates a user with a mail address, and returns the user's key.
func (p *cluster) user(id string) (key string) {
	p.t.Helper()
	profile := keychain.Profile{Email: id + "@example.com", Name: strings.ToUpper(id)}
	_, created, _, err := p.SignIn(p.t.Context(), keychain.Arrival{ID: id, Profile: profile}, keychain.NewUsers{})
	if err != nil {
		p.t.Fatal(err)
	}
	return created.Key
}

// limit imposes budgets.
func (p *cluster) limit(kind, holder string, b keychain.Budgets) {
	p.t.Helper()
	if _, err := p.Impose(p.t.Context(), kind, holder, keychain.KeyChange{Limits: func(l *keychain.Limits) { l.Budgets = b }}); err != nil {
		p.t.Fatal(err)
	}
}

// spend records a request with a key and writes the record to the database.
func (p *cluster) spend(key string, tokens, micros int64) {
	p.t.Helper()
	id, err := p.Authenticate(p.t.Context(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	p.usage.Add(spending.Record{
		At: p.now(), UserID: id.UserID, TeamID: id.TeamID, KeyID: id.KeyID, Provider: "alpha", Model: "large",
		InputTokens: tokens, CostMicroUSD: micros, CostKnown: true,
	})
	if err := p.usage.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// checkOn runs the check on several nodes at once, and returns the new alerts.
func (p *cluster) checkOn(o *Options, nodes ...*Service) (raised []string) {
	p.t.Helper()
	before, err := List(p.t.Context(), p.db, 0, 500)
	if err != nil {
		p.t.Fatal(err)
	}
	var running sync.WaitGroup
	for _, n := range nodes {
		running.Go(func() {
			if _, err := n.check(p.t.Context(), o); err != nil {
				p.t.Error(err)
			}
		})
	}
	running.Wait()
	after, err := List(p.t.Context(), p.db, 0, 500)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, a := range after[:max(0, len(after)-len(before))] {
		raised = append(raised, fmt.Sprintf("%s %s %d", a.On, a.Budget, a.Threshold))
	}
	slices.Sort(raised)
	return raised
}

func usd(dollars int64) *spending.MicroUSD { return new(spending.MicroUSD(dollars * 1_000_000)) }

// TestThresholds checks that each threshold of each budget causes one alert in each period, however many nodes check.
func TestThresholds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		ada := p.user("ada")
		red, err := p.AddTeam(t.Context(), "red")
		if err == nil {
			err = p.SetMember(t.Context(), red.ID, "ada", keychain.Membership{})
		}
		if err != nil {
			t.Fatal(err)
		}
		p.limit(keychain.OnUser, "ada", keychain.Budgets{TokensPerDay: new(int64(1000)), USDPerMonth: usd(100)})
		p.limit(keychain.OnTeam, red.ID, keychain.Budgets{TokensPerWeek: new(int64(2000))})
		p.limit(keychain.OnOrganisation, keychain.Organisation, keychain.Budgets{TokensTotal: new(int64(10_000))})
		created, err := p.CreateKey(t.Context(), "ada", keychain.KeyOptions{Limits: keychain.Limits{Budgets: keychain.Budgets{TokensPerMonth: new(int64(100))}}, Impose: true})
		if err != nil {
			t.Fatal(err)
		}
		first, other := p.node(), p.node()
		o := &Options{Thresholds: DefaultThresholds, Webhooks: []Webhook{{URL: "https://example.com/", Secret: []byte("secret")}}}
		want := func(want ...string) {
			t.Helper()
			if got := p.checkOn(o, first, other); !slices.Equal(got, want) {
				t.Errorf("alerts %q, want %q", got, want)
			}
			if repeated := p.checkOn(o, first, other); len(repeated) > 0 {
				t.Errorf("repeated alerts %q", repeated)
			}
		}
		want()
		p.spend(ada, 499, 0)
		want()
		p.spend(ada, 1, 50_000_000)
		want("user tokens_per_day 50", "user usd_per_month 50")
		p.spend(ada, 460, 49_999_999)
		want("user tokens_per_day 95", "user usd_per_month 95")
		p.spend(ada, 40, 1)
		want("team tokens_per_week 50", "user tokens_per_day 100", "user usd_per_month 100")
		p.spend(created.Key, 85, 0)
		want("key tokens_per_month 80")

		// A raised budget causes new alerts.
		p.limit(keychain.OnUser, "ada", keychain.Budgets{TokensPerDay: new(int64(2000)), USDPerMonth: usd(100)})
		p.advance(fullEvery)
		want("user tokens_per_day 50")

		p.advance(24 * time.Hour) // another day, week and month
		want()
		p.spend(ada, 2000, 0)
		want("team tokens_per_week 100", "user tokens_per_day 100")
		p.spend(ada, 2000, 0)
		want("organisation tokens_total 50")

		// A node that has just started checks all budgets.
		p.advance(time.Hour)
		want() // the nodes check all budgets
		p.limit(keychain.OnUser, "ada", keychain.Budgets{TokensPerMonth: new(int64(3000))})
		want()
		fresh := p.node()
		fresh.optionsChanged.Store(true)
		if got := p.checkOn(o, fresh); !slices.Equal(got, []string{"user tokens_per_month 100"}) {
			t.Errorf("a node that has just started has the alerts %q", got)
		}
	})
}

// TestFailingKeys checks that a key which its provider refuses causes one alert a day.
func TestFailingKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		o := &Options{Thresholds: DefaultThresholds, Failing: func() []FailingKey { return []FailingKey{{"openai", "invalid_key"}} }}
		n, other := p.node(), p.node()
		for day, want := range []int{1, 0, 1} {
			if got := p.checkOn(o, n, other); len(got) != want || want > 0 && got[0] != "provider invalid_key 0" {
				t.Errorf("%d: alerts %q", day, got)
			}
			if day > 0 {
				p.advance(24 * time.Hour)
			}
		}
	})
}

// receiver is the server of a webhook.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []gjson.Result
	status atomic.Int64
}

var secret = []byte("0123456789abcdef01234567")

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := new(receiver)
	r.status.Store(http.StatusNoContent)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		id := request.Header.Get(webhook.StandardID)
		var timestamp int64
		if err == nil {
			_, err = fmt.Sscan(request.Header.Get(webhook.StandardTimestamp), &timestamp)
		}
		want := webhook.StandardHeader(secret, id, time.Unix(timestamp, 0), string(body)).Get(webhook.StandardSignature)
		if err != nil || id != gjson.GetBytes(body, "data.id").Str || request.Header.Get(webhook.StandardSignature) != want {
			t.Errorf("%v with the headers %v", err, request.Header)
		}
		r.mu.Lock()
		r.got = append(r.got, gjson.ParseBytes(body))
		r.mu.Unlock()
		w.WriteHeader(int(r.status.Load()))
	}))
	t.Cleanup(r.Close)
	return r
}

// takeReceived returns the messages received since its last call.
func (r *receiver) takeReceived() []gjson.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	received := r.got
	r.got = nil
	return received
}

// postman is a mail transport that refuses addresses which begin with r, and fails for those that begin with f.
type postman struct {
	mu   sync.Mutex
	sent []*mail.Message
}

func (p *postman) Open(context.Context) (mail.Session, error) { return p, nil }

func (p *postman) Close() {}

func (p *postman) Send(_ context.Context, m *mail.Message) error {
	switch m.Email[0] {
	case 'r':
		return fmt.Errorf("%w: 550", mail.ErrPermanent)
	case 'f':
		return errors.New("451")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m)
	return nil
}

// send makes nodes send all due messages at the same time.
func (p *cluster) send(o *Options, nodes ...*Service) {
	p.t.Helper()
	var running sync.WaitGroup
	for _, n := range nodes {
		running.Go(func() {
			if _, err := n.mail(p.t.Context(), o); err != nil {
				p.t.Error(err)
			}
			if _, err := n.deliver(p.t.Context(), o); err != nil {
				p.t.Error(err)
			}
		})
	}
	running.Wait()
}

// lastMessages describes the messages of the newest alert.
func (p *cluster) lastMessages() (messages []string) {
	p.t.Helper()
	list, err := List(p.t.Context(), p.db, 0, 1)
	if err != nil || len(list) != 1 {
		p.t.Fatalf("%v, error %v", list, err)
	}
	for _, m := range list[0].Messages {
		messages = append(messages, fmt.Sprintf("%s %s %s %d %s", m.Channel, m.Target, m.State, m.Attempts, m.Answer))
	}
	slices.Sort(messages)
	return messages
}

// TestSend checks that an alert is sent to all its recipients, only once by several nodes, and again after a failure.
func TestSend(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		ada := p.user("ada")
		p.user("boss")
		p.user("away")
		red, err := p.AddTeam(t.Context(), "red")
		for user, role := range map[string]string{"ada": keychain.RoleMember, "boss": keychain.RoleAdmin, "away": keychain.RoleAdmin} {
			if err == nil {
				err = p.SetMember(t.Context(), red.ID, user, keychain.Membership{Role: role})
			}
		}
		if err == nil {
			err = p.SuspendUser(t.Context(), "away")
		}
		if err != nil {
			t.Fatal(err)
		}
		p.limit(keychain.OnTeam, red.ID, keychain.Budgets{USDPerMonth: usd(10)})
		hook, down := newReceiver(t), newReceiver(t)
		down.status.Store(http.StatusBadGateway)
		post := new(postman)
		o := &Options{
			Thresholds: DefaultThresholds, Addresses: []string{"ops@example.com", "refused@example.com", "failing@example.com"}, Concerned: true, Mail: post,
			Webhooks: []Webhook{{hook.URL + "/path", secret}, {down.URL, secret}},
		}
		first, other := p.node(), p.node()
		p.spend(ada, 10, 8_100_000)
		if raised := p.checkOn(o, first); !slices.Equal(raised, []string{"team usd_per_month 80"}) {
			t.Fatalf("alerts %q", raised)
		}
		p.send(o, first, other)
		got := hook.takeReceived()
		if len(got) != 1 {
			t.Fatalf("the webhook got %v", got)
		}
		data := got[0].Get("data")
		if got[0].Get("type").Str != KindBudget || got[0].Get("timestamp").Str != data.Get("at").Str || data.Get("on").Str != "team" ||
			data.Get("holder").Str != red.ID || data.Get("name").Str != "red" || data.Get("budget").Str != "usd_per_month" ||
			data.Get("threshold").Int() != 80 || data.Get("amount").Float() != 10 || data.Get("spent").Float() != 8.1 ||
			data.Get("begins_at").Str != "2026-05-01T00:00:00Z" || data.Get("ends_at").Str != "2026-06-01T00:00:00Z" {
			t.Errorf("the webhook got %s", got[0])
		}
		recipients := make([]string, 0, len(post.sent))
		for _, m := range post.sent {
			recipients = append(recipients, m.Email)
			if !strings.HasPrefix(m.Subject, "80 % of the monthly budget of the team red") || !strings.Contains(m.Text, "has spent 8.1 US dollars of the monthly budget of 10 US dollars.") {
				t.Errorf("the mail says %q: %q", m.Subject, m.Text)
			}
		}
		if slices.Sort(recipients); !slices.Equal(recipients, []string{"boss@example.com", "ops@example.com"}) {
			t.Errorf("mails are for %q", recipients)
		}
		want := []string{
			"mail boss@example.com sent 1 ", "mail failing@example.com pending 1 451", "mail ops@example.com sent 1 ",
			"mail refused@example.com failed 1 the mail was refused for good: 550",
			"webhook " + down.URL + " pending 1 502 Bad Gateway", "webhook " + hook.URL + " sent 1 ",
		}
		if messages := p.lastMessages(); !slices.Equal(messages, sorted(want)) {
			t.Errorf("%q, want %q", messages, want)
		}
		if failed := down.takeReceived(); len(failed) != 1 || failed[0].Raw != got[0].Raw {
			t.Errorf("the other webhook got %v", failed)
		}
		p.send(o, first, other)
		if len(down.takeReceived()) != 0 {
			t.Error("the message is sent again at once")
		}
		down.status.Store(http.StatusOK)
		p.advance(time.Minute)
		p.send(o, first, other)
		if repeated := down.takeReceived(); len(repeated) != 1 || repeated[0].Raw != got[0].Raw {
			t.Errorf("the message is sent again as %v", repeated)
		}
		if len(hook.takeReceived()) != 0 || len(post.sent) != 2 {
			t.Error("a delivered message is sent again")
		}
	})
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// TestSendAfterKilledNode checks that a message claimed by a process that died is sent by another node when the lease
// expires. A node without the message's webhook in its configuration does not send it.
func TestSendAfterKilledNode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		hook := newReceiver(t)
		o := &Options{Thresholds: DefaultThresholds, Webhooks: []Webhook{{hook.URL, secret}}}
		dead, other := p.node(), p.node()
		dead.options.Store(o)
		if err := dead.Test(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids, err := dead.due(t.Context(), channelWebhook, "", 10)
		if err != nil || len(ids) != 1 {
			t.Fatalf("due is %v, error %v", ids, err)
		}
		if m, err := dead.claim(t.Context(), ids[0], webhookLease); m == nil || err != nil {
			t.Fatal(err)
		}
		p.send(o, other)
		p.advance(webhookLease - time.Second)
		p.send(o, other)
		if len(hook.takeReceived()) != 0 {
			t.Error("another node does not wait for the lease")
		}
		p.advance(time.Second)
		p.send(&Options{Webhooks: []Webhook{{hook.URL + "/other", secret}}}, other)
		if len(hook.takeReceived()) != 0 {
			t.Error("the message is sent to another webhook")
		}
		p.send(o, other)
		if got := hook.takeReceived(); len(got) != 1 || got[0].Get("type").Str != KindTest {
			t.Errorf("the webhook got %v", got)
		}
		if messages := p.lastMessages(); len(messages) != 1 || !strings.HasSuffix(messages[0], "sent 2 ") {
			t.Errorf("%q", messages)
		}
	})
}

// TestMessagesFailForGood checks that messages to an address that is gone, and messages that have waited too long, are
// not tried again, and that old alerts are deleted.
func TestMessagesFailForGood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		goneHook, down := newReceiver(t), newReceiver(t)
		goneHook.status.Store(http.StatusGone)
		down.status.Store(http.StatusInternalServerError)
		o := &Options{Thresholds: DefaultThresholds, Webhooks: []Webhook{{goneHook.URL, secret}, {down.URL, secret}}}
		n := p.node()
		if err := n.Test(t.Context()); !errors.Is(err, ErrOff) {
			t.Errorf("error %v, want ErrOff", err)
		}
		n.options.Store(o)
		if err := n.Test(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.send(o, n)
		if messages := p.lastMessages(); !slices.Equal(messages, sorted([]string{"webhook " + goneHook.URL + " failed 1 410 Gone", "webhook " + down.URL + " pending 1 500 Internal Server Error"})) {
			t.Errorf("%q", messages)
		}
		p.advance(sentWithin + time.Hour)
		p.checkOn(o, n)
		if messages := p.lastMessages(); !slices.Contains(messages, "webhook "+down.URL+" failed 1 waited too long") {
			t.Errorf("%q", messages)
		}
		p.advance(keepFor)
		p.checkOn(o, n)
		if list, err := List(t.Context(), p.db, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("%v, error %v", list, err)
		}
	})
}

// TestUseReplacesOptions checks that the running jobs use options that replace the first ones.
func TestUseReplacesOptions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p *cluster) {
		hook := newReceiver(t)
		n := p.node()
		defer n.Close()
		n.Use(nil)
		n.Use(&Options{Thresholds: DefaultThresholds, Webhooks: []Webhook{{hook.URL, secret}}})
		if err := n.Test(t.Context()); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(time.Minute)
		for len(hook.takeReceived()) == 0 {
			if time.Now().After(deadline) {
				t.Fatal("no message arrives")
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestMailTexts checks that mails name the spending, the budget's holder, and the consequence.
func TestMailTexts(t *testing.T) {
	t.Parallel()
	ends := begin.Add(14 * time.Hour)
	for name, test := range map[string]struct {
		alert Alert
		want  []string
	}{
		"spent": {
			Alert{Kind: KindBudget, On: keychain.OnOrganisation, Holder: "organisation", Budget: "tokens_total", Threshold: 100, amount: 5, spent: 7},
			[]string{"100 % of the total budget of the organisation is spent", "The organisation has spent 7 tokens of the total budget of 5 tokens.", "refused with the status 402 until an operator raises"},
		},
		"key": {
			Alert{Kind: KindBudget, On: keychain.OnKey, Holder: "gk_1", Name: "ci of Ada", Budget: "usd_per_day", Threshold: 50, amount: 2_000_000, spent: 1_000_000, money: true, Ends: &ends},
			[]string{"50 % of the daily budget of the key gk_1 (ci of Ada) is spent", "1 US dollars of the daily budget of 2 US dollars", "is renewed at 2026-06-01T00:00:00Z"},
		},
		"provider": {
			Alert{Kind: KindProviderKey, On: OnProvider, Holder: "openai", Budget: "invalid_key"},
			[]string{"The provider openai rejects the operator's key", "invalid key"},
		},
		"test": {Alert{Kind: KindTest}, []string{"A test"}},
	} {
		subject, body := test.alert.text()
		for _, want := range test.want {
			if !strings.Contains(subject+"\n"+body, want) {
				t.Errorf("%s: %q, %q lacks %q", name, subject, body, want)
			}
		}
		text, err := test.alert.body()
		if err != nil || !json.Valid([]byte(text)) {
			t.Errorf("%s: %s, error %v", name, text, err)
		}
	}
}
