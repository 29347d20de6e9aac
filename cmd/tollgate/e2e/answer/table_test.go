package answer

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

var answerID = regexp.MustCompile(`^ans_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

// enveloped checks the envelope of an answer: it must have success, error and result. The result is an object if the
// question was understood, and null if the question was refused.
func enveloped(t *testing.T, a *e2e.Answer, status int, reason string) {
	t.Helper()
	body := gjson.Parse(a.Body)
	if a.Err != nil || a.Status != status || outcome(a) != reason {
		t.Fatalf("%d %s %v, want %d %s", a.Status, a.Body, a.Err, status, reason)
	}
	if len(body.Map()) != 3 || body.Get("success").Bool() != (reason == "Answered") || (body.Get("error").Raw == "null") != (reason == "Answered") {
		t.Errorf("not the envelope: %s", a.Body)
	}
	if a.Header.Get("Content-Type") != "application/json; charset=utf-8" || (a.Header.Get("Retry-After") != "") != (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) {
		t.Errorf("headers %v", a.Header)
	}
	result := body.Get("result")
	if status != http.StatusOK {
		if result.Raw != "null" {
			t.Errorf("a refusal has a result: %s", a.Body)
		}
		return
	}
	if len(result.Map()) != 5 || !answerID.MatchString(result.Get("id").Str) || result.Get("query").Str == "" || (result.Get("answer").Str != "") != (reason == "Answered") ||
		!result.Get("references").IsArray() || !result.Get("subqueries").IsArray() || (len(result.Get("references").Array()) > 0) != (reason == "Answered") {
		t.Errorf("not a result: %s", a.Body)
	}
}

// TestAnswersTable checks each row of the contract's table that can be produced from outside. Questions that fail or
// are refused are not charged.
func TestAnswersTable(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		o := newOracle(t, honest)
		d := newDesk(t, dsn, quick+o.option()+"\t\tdeadline 5s\n\t\trunning 2\n\t\tqueued 1\n")
		newKey := func(arguments ...string) string {
			return strings.TrimSpace(d.Tool(append([]string{"answer", "key", "create", "--account", "desk", "--label"}, arguments...)...))
		}
		quotaOnly, expired, revoked := newKey("quota", "--service", "quota"), newKey("expired", "--expires", "1h"), newKey("revoked")
		d.Tool("answer", "key", "revoke", revoked)
		d.later("UPDATE answer_keys SET expires_at = created_at WHERE label = 'expired'")
		asks := func(query string) string { return fmt.Sprintf(`{"query":%q}`, query) }
		cobaltine := "What was the revenue of Cobaltine in 2025?"
		for name, c := range map[string]struct {
			says               func(step, prompt string) string
			method, path, body string
			header             []string
			status             int
			reason             string
		}{
			"answered":              {body: `{"query":"  ` + asked + ` ","forceAnswer":false}`, status: 200, reason: "Answered"},
			"not about investments": {body: asks("How do I bake sourdough bread?"), status: 200, reason: "NonInvestmentRelated"},
			"forced":                {body: `{"query":"How do I bake sourdough bread?","forceAnswer":true}`, status: 200, reason: "FailedToAnswer"},
			"screening":             {body: asks("Which stocks have the highest dividend yield?"), status: 200, reason: "ShouldUseScreener"},
			"comparison":            {body: asks("Which had the higher revenue in 2025, Cobaltine or Quillmarsh Instruments?"), status: 200, reason: "ShouldUseScreener"},
			"inappropriate":         {body: asks("How can I manipulate the price of Cobaltine's stock?"), status: 200, reason: "ContentFiltered"},
			"nothing found":         {body: asks("What was the revenue of Cobaltine in 2011?"), status: 200, reason: "FailedToAnswer"},
			"a judge that refuses":  {says: but("judge", `{"grounded":0.6,"responsive":1}`, honest), body: asks(asked), status: 200, reason: "FailedToAnswer"},
			"a judge that breaks":   {says: but("judge", broken, honest), body: asks(asked), status: 200, reason: "FailedToAnswer"},
			"a judge of no words":   {says: but("judge", "fine!", honest), body: asks(asked), status: 200, reason: "FailedToAnswer"},
			"no JSON":               {body: `{"query":`, status: 400, reason: "InvalidRequest"},
			"two values":            {body: asks(asked) + "{}", status: 400, reason: "InvalidRequest"},
			"no query":              {body: `{"q":"` + asked + `"}`, status: 400, reason: "InvalidRequest"},
			"wrong type":            {body: `{"query":["` + asked + `"]}`, status: 400, reason: "InvalidRequest"},
			"wrong type of force":   {body: `{"query":"` + asked + `","forceAnswer":1}`, status: 400, reason: "InvalidRequest"},
			"blank":                 {body: asks(" \t "), status: 400, reason: "InvalidRequest"},
			"too long":              {body: asks(strings.Repeat("ü", 2001)), status: 400, reason: "InvalidRequest"},
			"too deep":              {body: `{"query":"q","x":` + strings.Repeat("[", 9) + strings.Repeat("]", 9) + `}`, status: 400, reason: "InvalidRequest"},
			"no key":                {body: asks(asked), header: []string{"X-Api-Key", ""}, status: 401, reason: "Unauthorized"},
			"unknown key":           {body: asks(asked), header: []string{"X-Api-Key", d.key + "x"}, status: 401, reason: "Unauthorized"},
			"revoked key":           {body: asks(asked), header: []string{"X-Api-Key", revoked}, status: 401, reason: "Unauthorized"},
			"expired key":           {body: asks(asked), header: []string{"X-Api-Key", expired}, status: 401, reason: "Unauthorized"},
			"key of the quota":      {body: asks(asked), header: []string{"X-Api-Key", quotaOnly}, status: 403, reason: "Forbidden"},
			"unknown path":          {path: "/v1/answers", body: asks(asked), status: 404, reason: "NotFound"},
			"unknown answer":        {method: "GET", path: "/v1/answers/ans_none", status: 404, reason: "NotFound"},
			"other method":          {method: "PUT", body: asks(asked), status: 405, reason: "MethodNotAllowed"},
			"too large":             {body: asks(strings.Repeat("a", 16<<10)), status: 413, reason: "PayloadTooLarge"},
			"no type of JSON":       {body: asks(asked), header: []string{"Content-Type", "text/plain"}, status: 415, reason: "UnsupportedMediaType"},
			"no usable model":       {says: but("draft", broken, honest), body: asks(cobaltine), status: 503, reason: "ServiceUnavailable"},
		} {
			t.Run(name, func(t *testing.T) { // not in parallel, because the cases share an oracle
				o.say(honest)
				if c.says != nil {
					o.say(c.says)
				}
				if c.method == "" {
					c.method = http.MethodPost
				}
				if c.path == "" {
					c.path = "/v1/answer"
				}
				a := d.do(c.method, c.path, c.body, c.header...)
				enveloped(t, a, c.status, c.reason)
				if c.status == http.StatusMethodNotAllowed && a.Header.Get("Allow") != "POST" {
					t.Errorf("Allow: %s", a.Header.Get("Allow"))
				}
				if known := c.status != 401 && c.status != 405 && c.path != "/v1/answers"; known && (a.Header.Get("X-RateLimit-Limit") != "100000" || a.Header.Get("RateLimit") == "") {
					t.Errorf("headers %v", a.Header)
				}
			})
		}
		d.settled(1)
		metrics, err := d.Admin(http.MethodGet, "/metrics", "", "")
		for _, line := range []string{
			`tollgate_answer_questions_total{outcome="Answered"} 1`, `tollgate_answer_questions_total{outcome="ServiceUnavailable"} 1`, `tollgate_answer_questions_total{outcome="ShouldUseScreener"} 2`,
			`tollgate_answer_stage_seconds_count{stage="assemble"} 1`, `tollgate_answer_tokens_total{kind="prompt",step="judge"} `, `tollgate_answer_tokens_total{kind="completion",step="draft"} `,
			`tollgate_answer_waiting 0`, `tollgate_answer_reserved 0`,
		} {
			if err != nil || !strings.Contains(metrics, "\n"+line) {
				t.Errorf("no %s: %v", line, err)
			}
		}
		t.Run("a full house", func(t *testing.T) {
			o.say(but("draft", hang, honest))
			asking := make(chan *e2e.Answer, 3)
			for range 3 { // two are being answered, one waits
				go func() { asking <- d.ask(asked) }()
			}
			e2e.Eventually(t, e2e.WaitLimit, "all places are taken", func() error {
				if n := d.count("SELECT COUNT(*) FROM answer_reservations"); n != 3 {
					return fmt.Errorf("%d", n)
				}
				return nil
			})
			enveloped(t, d.ask(asked), 503, "ServiceUnavailable")
			for range 3 { // the deadline includes the time of waiting
				enveloped(t, <-asking, 504, "Timeout")
			}
			for range 2 {
				o.await(t, o.left, "draft")
			}
			d.settled(1)
		})
		t.Run("a slow judge", func(t *testing.T) {
			o.say(but("judge", hang, honest))
			began := time.Now()
			enveloped(t, d.ask(asked), 200, "FailedToAnswer")
			if took := time.Since(began); took < 5*time.Second {
				t.Errorf("given up after %s", took)
			}
			o.await(t, o.left, "judge")
			d.settled(1)
		})
		d.Stop()
	})
}

// TestAnswersOutage checks that while the database is down every request is a 503 with a Retry-After, that the service
// recovers, and that nothing stays reserved.
func TestAnswersOutage(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg := testenv.NewPostgres(t)
		fillPostgres(t, pg.DSN())
		d := newDesk(t, pg.DSN(), quick)
		enveloped(t, d.ask(asked), 200, "Answered")
		pg.Stop()
		enveloped(t, d.ask(asked), 503, "ServiceUnavailable")
		enveloped(t, d.do(http.MethodGet, "/v1/quota", ""), 503, "ServiceUnavailable")
		d.ready(http.StatusServiceUnavailable, "unavailable")
		pg.Start()
		d.recovers()
		d.Stop()
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, "", quick)
		enveloped(t, d.ask(asked), 200, "Answered")
		holder, err := d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holder.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		enveloped(t, d.ask(asked), 503, "ServiceUnavailable") // the database is locked for writes
		if _, err := holder.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		_ = holder.Close()
		d.recovers()
		d.Stop()
	})
}

// recovers waits until a desk answers again. That answer is the second that is charged.
func (d *desk) recovers() {
	d.T.Helper()
	e2e.Eventually(d.T, e2e.WaitLimit, "questions are answered again", func() error {
		if a := d.ask(asked); outcome(a) != "Answered" {
			return fmt.Errorf("%d %s %w", a.Status, a.Body, a.Err)
		}
		return nil
	})
	d.settled(2)
	d.ready(http.StatusOK, "ok")
}

// ready waits until the node reports the given readiness to load balancers.
func (d *desk) ready(status int, database string) {
	d.T.Helper()
	e2e.Eventually(d.T, e2e.WaitLimit, "the node is "+database, func() error {
		a := d.do(http.MethodGet, "/readyz", "")
		if a.Status != status || gjson.Get(a.Body, "status").Str != database || gjson.Get(a.Body, "parts.database").Str != database || gjson.Get(a.Body, "parts.keyring").Str != "ok" {
			return fmt.Errorf("%d %s %w", a.Status, a.Body, a.Err)
		}
		return nil
	})
}

// TestAnswersReloadUnderWay checks that a question that runs during a reload is answered by the configuration that
// accepted it, and that the admin endpoint does not show two services.
func TestAnswersReloadUnderWay(t *testing.T) {
	t.Parallel()
	o := newOracle(t, but("draft", hang, honest))
	d := newDesk(t, "", quick+o.option())
	asking := make(chan *e2e.Answer, 1)
	go func() { asking <- d.ask(asked) }()
	o.await(t, o.hanging, "draft")
	d.reload(e2e.Swap(t, d.config, "rate 100000", "rate 90000"))
	if list, err := d.Admin(http.MethodGet, "/admin/answer/keys", "", ""); err != nil || !strings.Contains(list, `"label":"desk"`) {
		t.Errorf("%s %v", list, err)
	}
	quota := func() *e2e.Answer { return d.do(http.MethodGet, "/v1/quota", "") }
	d.awaitReload("the new configuration has the new rate and the pending question", quota, func(a *e2e.Answer) bool {
		return a.Header.Get("X-RateLimit-Limit") == "90000" && gjson.Get(a.Body, "result.pending").Int() == 1
	})
	o.say(honest)
	o.release()
	enveloped(t, <-asking, 200, "Answered")
	d.settled(1)
	d.Stop()
}
