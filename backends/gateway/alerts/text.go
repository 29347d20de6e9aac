package alerts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// maxName limits the length of a name in a mail, in characters.
const maxName = 100

// holderPhrase returns a phrase that names the holder concerned by the alert.
func (a *Alert) holderPhrase() string {
	name := text.Short(a.Name, maxName)
	switch a.On {
	case keychain.OnOrganisation:
		return "the organisation"
	case keychain.OnKey:
		if name == "" {
			return "the key " + a.Holder
		}
		return "the key " + a.Holder + " (" + name + ")"
	case keychain.OnProviderKey:
		return "the provider key " + a.Holder
	default:
		kind := strings.TrimSuffix(a.On, "_own") // OnTeamOwn is a team, too
		if name == "" || name == a.Holder {
			return "the " + kind + " " + a.Holder
		}
		return "the " + kind + " " + name + " (" + a.Holder + ")"
	}
}

// quantity formats n tokens, or n millionths of a US dollar if the budget is in money, with the unit.
func (a *Alert) quantity(n int64) string {
	if a.money {
		return spending.MicroUSD(n).String() + " US dollars"
	}
	return strconv.FormatInt(n, 10) + " tokens"
}

// budgetAdjectives are adjectives for budgets, by the parts of their names after the unit.
var budgetAdjectives = map[string]string{
	"per_day": "daily", "per_week": "weekly", "per_month": "monthly", "total": "total",
}

// budgetAdjective returns an adjective for the budget by its period, such as "daily".
func (a *Alert) budgetAdjective() string {
	_, period, _ := strings.Cut(a.Budget, "_")
	return budgetAdjectives[period]
}

// text returns the subject and the body of a mail.
func (a *Alert) text() (subject, body string) {
	switch a.Kind {
	case KindBudget:
		subject = fmt.Sprintf("%d %% of the %s budget of %s is spent", a.Threshold, a.budgetAdjective(), a.holderPhrase())
		body = fmt.Sprintf("%s has spent %s of the %s budget of %s.\n\n", upper(a.holderPhrase()), a.quantity(a.spent),
			a.budgetAdjective(), a.quantity(a.amount))
		if a.spent >= a.amount {
			body += a.consequence()
		}
		if a.Ends != nil {
			body += "The budget is renewed at " + a.Ends.Format(time.RFC3339) + ".\n"
		}
	case KindProviderKey:
		subject = "The provider " + a.Holder + " rejects the operator's key"
		body = "The provider " + a.Holder + " rejects the operator's key: " + strings.ReplaceAll(a.Budget, "_", " ") +
			".\n\n" +
			"Requests are sent to other providers, if there are any. The key is tried again after an hour.\n"
	case KindErrors, KindErrorsEnd, KindLatency, KindLatencyEnd:
		subject, body = a.watchText()
	default:
		subject = "A test of the alerts of the model gateway"
		body = "This mail tests that alerts of the model gateway reach you. There is nothing to do.\n"
	}
	return subject, body + "\n" + a.At.Format(time.RFC3339) + " " + a.Event + "\n"
}

// consequence returns a sentence for mails that describes what happens after the whole budget is spent.
func (a *Alert) consequence() string {
	clause := "until an operator raises the budget"
	if a.Ends != nil {
		clause = "until the budget is renewed or an operator raises it"
	}
	if a.On == keychain.OnProviderKey {
		return "Requests are sent with other provider keys, if there are any, " + clause + ".\n"
	}
	return "Requests are refused with the status 402 " + clause + ".\n"
}

// watchText returns the subject and the body of a mail about an alert of a Watch.
func (a *Alert) watchText() (subject, body string) {
	requests, target := "all requests", ""
	if a.On == OnModel {
		requests = "the requests to " + text.Short(a.Holder, maxName)
		target = " to " + text.Short(a.Holder, maxName)
	}
	starts, ends := a.Begins.Format(time.RFC3339), a.Ends.Format(time.RFC3339)
	seconds := func(micros int64) string { return time.Duration(micros * 1000).Round(10 * time.Millisecond).String() }
	switch a.Kind {
	case KindErrors:
		subject = fmt.Sprintf("%d %% of %s fail", a.spent*100/max(a.amount, 1), requests)
		body = fmt.Sprintf("%d of %d requests%s failed from %s to %s. The threshold for alerts is %d %%.\n", a.spent, a.amount,
			target, starts, ends, a.Threshold) + endFollows
	case KindLatency:
		subject = fmt.Sprintf("Answers to %s are slow", requests)
		body = fmt.Sprintf("From %s to %s, the 95th percentile of the time to answer %s was %s. The threshold for alerts is %s.\n",
			starts, ends, requests, seconds(a.spent), seconds(a.amount)) + endFollows
	case KindErrorsEnd:
		subject = fmt.Sprintf("Less than %d %% of %s fail now", a.Threshold, requests)
		body = fmt.Sprintf("Too many of %s failed from %s to %s.", requests, starts, ends)
		if a.amount > 0 {
			body += fmt.Sprintf(" At the end, %d of %d failed.\n", a.spent, a.amount)
		} else {
			body += " At the end, there were no requests.\n"
		}
	default:
		subject = fmt.Sprintf("Answers to %s are fast enough now", requests)
		body = fmt.Sprintf("Answers to %s were too slow from %s to %s.", requests, starts, ends)
		if a.spent > 0 {
			body += fmt.Sprintf(" At the end, the 95th percentile was %s.\n", seconds(a.spent))
		} else {
			body += " At the end, there were no answers.\n"
		}
	}
	return subject, body
}

// endFollows is the end of mails about the beginning of an episode.
const endFollows = "\nAnother message follows when it is over.\n"

// upper returns s, which must not be empty, with a capital first letter. The letter must be in ASCII.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// body returns the body of a webhook request, in the form that Standard Webhooks recommends.
func (a *Alert) body() (string, error) {
	text, err := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      *Alert    `json:"data"`
	}{a.Kind, a.At, a})
	return string(text), err
}
