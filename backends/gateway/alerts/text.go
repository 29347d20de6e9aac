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
		kind := strings.TrimSuffix(a.On, "_own") // OnTeamOwn, too, is on a team
		if name == "" || name == a.Holder {
			return "the " + kind + " " + a.Holder
		}
		return "the " + kind + " " + name + " (" + a.Holder + ")"
	}
}

// quantity formats an amount of the budget with its unit.
func (a *Alert) quantity(n int64) string {
	if a.money {
		return spending.MicroUSD(n).String() + " US dollars"
	}
	return strconv.FormatInt(n, 10) + " tokens"
}

// period returns a phrase for the period of the budget.
func (a *Alert) period() string {
	_, words, _ := strings.Cut(a.Budget, "_")
	return strings.ReplaceAll(strings.Replace(words, "total", "in total", 1), "per_", "a ")
}

// text returns the subject and the body of a mail.
func (a *Alert) text() (subject, body string) {
	switch a.Kind {
	case KindBudget:
		subject = fmt.Sprintf("%d %% of the budget %s of %s are spent", a.Threshold, a.period(), a.holderPhrase())
		body = fmt.Sprintf("%s of %s %s are spent, which %s may spend.\n\n", upper(a.quantity(a.spent)), a.quantity(a.amount),
			a.period(), a.holderPhrase())
		switch {
		case a.spent < a.amount:
		case a.On == keychain.OnProviderKey:
			body += "The key is passed over until then; requests go through others, where there are any.\n"
		default:
			body += "Requests are refused with the status 402"
			if a.Ends != nil {
				body += " until the budget begins anew"
			}
			body += ", or until an operator raises it.\n"
		}
		if a.Ends != nil {
			body += "The budget begins anew at " + a.Ends.Format(time.RFC3339) + ".\n"
		}
	case KindProviderKey:
		subject = "The provider " + a.Holder + " does not take the operator's key"
		body = "The operator's key of the provider " + a.Holder + " is refused: " + strings.ReplaceAll(a.Budget, "_", " ") +
			".\n\n" +
			"Requests go to other providers, where there are any, and the key is tried again after an hour.\n"
	case KindErrors, KindErrorsEnd, KindLatency, KindLatencyEnd:
		subject, body = a.watchText()
	default:
		subject = "A test of the alerts of the model gateway"
		body = "This mail tests that alerts of the model gateway come here. There is nothing to do.\n"
	}
	return subject, body + "\n" + a.At.Format(time.RFC3339) + " " + a.Event + "\n"
}

// watchText returns the subject and the body of a mail about an alert of a Watch.
func (a *Alert) watchText() (subject, body string) {
	requests, target := "all requests", ""
	if a.On == OnModel {
		requests = "the requests to " + text.Short(a.Holder, maxName)
		target = " to " + text.Short(a.Holder, maxName)
	}
	begins, ends := a.Begins.Format(time.RFC3339), a.Ends.Format(time.RFC3339)
	seconds := func(micros int64) string { return time.Duration(micros * 1000).Round(10 * time.Millisecond).String() }
	switch a.Kind {
	case KindErrors:
		subject = fmt.Sprintf("%d %% of %s fail", a.spent*100/max(a.amount, 1), requests)
		body = fmt.Sprintf("%d of %d requests%s failed from %s to %s. Alerts are sent from %d %% on.\n", a.spent, a.amount, target, begins, ends, a.Threshold)
	case KindLatency:
		subject = fmt.Sprintf("Answers to %s come late", requests)
		body = fmt.Sprintf("The 95th percentile of how long answers to %s took from %s to %s is %s. Alerts are sent from %s on.\n",
			requests, begins, ends, seconds(a.spent), seconds(a.amount))
	case KindErrorsEnd:
		subject = fmt.Sprintf("Less than %d %% of %s fail again", a.Threshold, requests)
		body = fmt.Sprintf("Too many of %s failed from %s to %s.", requests, begins, ends)
		if a.amount > 0 {
			return subject, body + fmt.Sprintf(" At the end %d of %d did.\n", a.spent, a.amount)
		}
	default:
		subject = fmt.Sprintf("Answers to %s come in time again", requests)
		body = fmt.Sprintf("Answers to %s came too late from %s to %s.", requests, begins, ends)
		if a.spent > 0 {
			return subject, body + fmt.Sprintf(" At the end the 95th percentile was %s.\n", seconds(a.spent))
		}
	}
	if a.Kind == KindErrors || a.Kind == KindLatency {
		return subject, body + "\nAnother message follows when it is over.\n"
	}
	return subject, body + " At the end there were none.\n"
}

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
