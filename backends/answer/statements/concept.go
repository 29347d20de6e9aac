package statements

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

var (
	dashes     = regexp.MustCompile(`\s*[—–]\s*|\s+-+\s+`)
	remarks    = regexp.MustCompile(`(?i)\s*\((?:see )?(?:notes?|item|including|includes?|excluding|exclusive|net of|less|of which|related part|current and|pp&e|sg&a|r&d|restated|revised|as adjusted|unaudited|inclusive|\d|[a-z]\)|in )[^()]*\)?|\s*\([a-z\d]{1,2}\)|,? ?\*+$`)
	tails      = regexp.MustCompile(`(?i)[,;:]?\s+(?:net of|less|including|includes|excluding|exclusive of|at (?:cost|fair value|amortized cost|lower of)|shares? (?:authorized|issued|outstanding)|par value|\$?[\d.,]+ par|(?:and|before) equity in|and (?:income|loss|earnings) from equity|stated at|inclusive of)\b.*$`)
	attributed = regexp.MustCompile(`(?i)\s*,?\s*(?:attributable|available|applicable|allocable) to\b(.*)$`)
	toCommon   = regexp.MustCompile(`(?i)(?:available|applicable|allocable) to\b.*common`)
	notTheirs  = regexp.MustCompile(`(?i)non-?controlling|minorit|redeemable|preferred|discontinued|participating|continuing operations`)
	including  = regexp.MustCompile(`(?i)(?:including|before|excluding)\b.*(?:non-?controlling|minorit).*`)
	perShare   = regexp.MustCompile(`(?i)\bper\b.*\bshare|\bearnings \(loss\) per|\beps\b`)
	shareCount = regexp.MustCompile(`(?i)\bshares\b.*(?:outstanding|used|computation|calculat)|weighted.?average`)
	diluted    = regexp.MustCompile(`(?i)\bdilut|\bassuming dilution`)
	basic      = regexp.MustCompile(`(?i)\bbasic\b`)
	revenues   = regexp.MustCompile(`(?i)^(?:net )?(?:revenues?|sales)$`)
	netted     = regexp.MustCompile(`(?i),? net$|^net\b`)
	total      = regexp.MustCompile(`(?i)^total\b`)
	closing    = regexp.MustCompile(`(?i)\b(?:end|beginning|start|opening|closing)\b`)
)

// ownNames returns a pattern for the names of an issuer in row labels, such as "Total 3M Company
// shareholders' equity", or nil.
func ownNames(names []string) *regexp.Regexp {
	var all []string
	for _, name := range names {
		words := strings.Fields(metrics.Short(name))
		if len(words) == 0 {
			continue
		}
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		all = append(all, strings.Join(words, `\W+`))
		if len(words[0]) > 3 {
			all = append(all, words[0])
		}
	}
	if len(all) == 0 {
		return nil
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") +
		`)\b(?:\W{1,3}(?:inc|incorporated|corp|corporation|company|co|plc|ltd|limited|group|holdings|and subsidiaries)\b\.?)*(?:['’]s?)?`)
}

// resolve returns the rows of a statement whose concept is known.
func resolve(t *tables.Table, kind kernel.Statement, own *regexp.Regexp) []line {
	var rows []line
	for i := range t.Rows {
		label := t.Rows[i].Label
		if label == "" && revenues.MatchString(t.Rows[i].Group) && t.SumsUp(i) {
			label = "Total " + t.Rows[i].Group
		}
		if key, rank := concept(label, t.Rows[i].Group, kind, own); key != "" {
			rows = append(rows, line{key, rank, i})
		}
	}
	return rows
}

// concept returns the concept of a row, or the empty string if it is unknown. rank is greater for a total and
// for what belongs to the shareholders of the issuer.
func concept(label, group string, kind kernel.Statement, own *regexp.Regexp) (key string, rank int) {
	whole := label
	label = dashes.ReplaceAllString(label, ", ")
	label = remarks.ReplaceAllString(label, "")
	if kind == kernel.Income {
		if key := ofShares(label, group); key != "" {
			return key, 0
		}
		if perShare.MatchString(label) && !strings.Contains(strings.ToLower(label), "dividend") ||
			perShare.MatchString(group) && !total.MatchString(label) && strings.Contains(strings.ToLower(group), "per") &&
				shareish(label) {
			return "", 0
		}
		if including.MatchString(whole) {
			if m, ok := metrics.ByLabel(strings.TrimSpace(including.ReplaceAllString(label, ""))); ok && m.Key == "net_income" {
				return "profit", 0
			}
			return "", 0
		}
	}
	if at := attributed.FindStringSubmatchIndex(label); at != nil {
		if notTheirs.MatchString(label[at[2]:at[3]]) {
			return "", 0
		}
		rank = 2
		if toCommon.MatchString(label[at[0]:]) { // what preferred dividends leave
			rank = -1
		}
		label = label[:at[0]]
	}
	if own != nil && own.MatchString(label) { // what belongs to its shareholders alone
		label = own.ReplaceAllString(label, " ")
		rank = max(rank, 2)
	}
	if short := tails.ReplaceAllString(label, ""); short != "" {
		label = short
	}
	label = strings.Trim(strings.Join(strings.Fields(label), " "), " ,:;")
	if netted.MatchString(label) && rank == 0 {
		rank = 1
	}
	if kind == kernel.CashFlow && closing.MatchString(label) {
		return "", 0
	}
	m, ok := metrics.ByLabel(label)
	if total.MatchString(label) {
		rank = max(rank, 1)
		if !ok {
			m, ok = metrics.ByLabel(strings.TrimSpace(label[len("total"):]))
		}
	}
	if !ok {
		m, ok = metrics.ByLabel(strings.TrimSuffix(strings.TrimSuffix(label, ", net"), " net"))
	}
	if !ok {
		return patterned(label, kind), rank - 1
	}
	if m.Ratio || !belongs(m, kind) {
		return "", 0
	}
	return m.Key, rank
}

// belongs reports whether a concept is reported in a statement.
func belongs(m kernel.Metric, kind kernel.Statement) bool {
	switch kind { //nolint:exhaustive // these are the primary ones
	case kernel.Balance:
		return m.Instant && (m.Statement == kernel.Balance ||
			slices.Contains([]string{"deferred_tax_assets", "deferred_tax_liabilities"}, m.Key))
	case kernel.CashFlow:
		return !m.Instant && m.Statement == kernel.CashFlow
	}
	return !m.Instant && (m.Statement == kernel.Income || m.Key == "dividends_per_share")
}

// ofShares returns the concept of a row with earnings per share or a number of shares.
func ofShares(label, group string) string {
	both := group + " " + label
	if notTheirs.MatchString(label) || len(label) > 110 {
		return ""
	}
	lower := strings.ToLower(label)
	plain := strings.Trim(lower, " ,.:()") // "basic" alone under a group
	switch {
	case strings.Contains(lower, "dividend"):
		return ""
	case shareCount.MatchString(label) && !perShare.MatchString(strings.ReplaceAll(lower, "used in per share", "")),
		shareCount.MatchString(group) && (strings.HasPrefix(plain, "basic") || strings.HasPrefix(plain, "dilut") ||
			strings.HasPrefix(plain, "assuming dilution")):
		return either(both, label, "shares_basic", "shares_diluted")
	case perShare.MatchString(label), perShare.MatchString(group) &&
		(strings.HasPrefix(plain, "basic") || strings.HasPrefix(plain, "dilut") ||
			strings.HasPrefix(plain, "assuming dilution") || strings.HasPrefix(plain, "net income") ||
			strings.HasPrefix(plain, "net earnings") || strings.HasPrefix(plain, "total")):
		return either(both, label, "eps_basic", "eps_diluted")
	}
	return ""
}

// shareish reports whether a row in the group of earnings per share is one of them.
func shareish(label string) bool {
	m, ok := metrics.ByLabel(label)
	return !ok || m.Key == "net_income" || attributed.MatchString(label)
}

// either distinguishes basic from diluted by the row, or else by the group above it. It returns the empty
// string if neither tells.
func either(both, label, ofBasic, ofDiluted string) string {
	for _, text := range []string{label, both} {
		b, d := basic.MatchString(text), diluted.MatchString(text)
		switch {
		case b && !d:
			return ofBasic
		case d && !b:
			return ofDiluted
		}
	}
	return ""
}
