package statements

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// The patterns of the labels of rows and of the headings above them.
var (
	dashes           = regexp.MustCompile(`\s*[—–]\s*|\s+-+\s+`)
	remarks          = regexp.MustCompile(`(?i)\s*\((?:see )?(?:notes?|item|including|includes?|excluding|exclusive|net of|less|of which|related part|current and|pp&e|sg&a|r&d|restated|revised|as adjusted|unaudited|inclusive|\d|[a-z]\)|in )[^()]*\)?|\s*\([a-z\d]{1,2}\)|,? ?\*+$`)
	tailWords        = regexp.MustCompile(`(?i)[,;:]?\s+(?:net of|less|including|includes|excluding|exclusive of|at (?:cost|fair value|amortized cost|lower of)|shares? (?:authorized|issued|outstanding)|par value|\$?[\d.,]+ par|(?:and|before) equity in|and (?:income|loss|earnings) from equity|stated at|inclusive of)\b.*$`)
	attributed       = regexp.MustCompile(`(?i)\s*,?\s*(?:attributable|available|applicable|allocable) to\b(.*)$`)
	toCommon         = regexp.MustCompile(`(?i)(?:available|applicable|allocable) to\b.*common`)
	otherHolders     = regexp.MustCompile(`(?i)non-?controlling|minorit|redeemable|preferred|discontinued|participating|continuing operations`)
	beforeMinorities = regexp.MustCompile(`(?i)(?:including|before|excluding)\b.*(?:non-?controlling|minorit).*`)
	perShare         = regexp.MustCompile(`(?i)\bper\b.*\bshare|\bearnings \(loss\) per|\beps\b`)
	shareCount       = regexp.MustCompile(`(?i)\bshares\b.*(?:outstanding|used|computation|calculat)|weighted.?average`)
	diluted          = regexp.MustCompile(`(?i)\bdilut|\bassuming dilution`)
	basic            = regexp.MustCompile(`(?i)\bbasic\b`)
	revenues         = regexp.MustCompile(`(?i)^(?:net )?(?:revenues?|sales)$`)
	netWord          = regexp.MustCompile(`(?i),? net$|^net\b`)
	total            = regexp.MustCompile(`(?i)^total\b`)
	balanceWord      = regexp.MustCompile(`(?i)\b(?:end|beginning|start|opening|closing)\b`)
)

// issuerNames returns a pattern for the names of an issuer in row labels, such as "Total 3M Company shareholders'
// equity". It returns nil if there are no names.
func issuerNames(names []string) *regexp.Regexp {
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

// resolve returns those rows of a table that have a known concept, if the table is a statement of the given kind.
// issuer is the pattern that issuerNames returns.
func resolve(t *tables.Table, kind kernel.Statement, issuer *regexp.Regexp) []line {
	var rows []line
	for i := range t.Rows {
		label := t.Rows[i].Label
		if label == "" && revenues.MatchString(t.Rows[i].Group) && t.SumsUp(i) { // a total without a name
			label = "Total " + t.Rows[i].Group
		}
		if key, rank := concept(label, t.Rows[i].Group, kind, issuer); key != "" {
			rows = append(rows, line{key, rank, i})
		}
	}
	return rows
}

// concept returns the concept of a row, the key of a metric, or the empty string if it is unknown. group is the heading
// above the row, and issuer the pattern of issuerNames. Of several rows with the same concept, the row with the
// greatest rank states it: 2 for the shareholders' part of an amount, 1 for a total or a net amount, 0 for others, and
// -1 for others that are less certain.
func concept(label, group string, kind kernel.Statement, issuer *regexp.Regexp) (key string, rank int) {
	// The label is simplified step by step, until it may be the name of a metric. The steps depend on their order: a part
	// that decides what the row means must be looked at before the step that removes it.
	original := label
	label = dashes.ReplaceAllString(label, ", ")
	label = remarks.ReplaceAllString(label, "")
	if kind == kernel.Income {
		if key := shareConcept(label, group); key != "" {
			return key, 0
		}
		labelPerShare := perShare.MatchString(label) && !strings.Contains(strings.ToLower(label), "dividend")
		groupPerShare := perShare.MatchString(group) && strings.Contains(strings.ToLower(group), "per")
		if labelPerShare || groupPerShare && !total.MatchString(label) && isPerShare(label) {
			return "", 0 // earnings per share of an unknown kind
		}
		if beforeMinorities.MatchString(original) { // all of the profit, not only the shareholders' part
			m, ok := metrics.ByLabel(strings.TrimSpace(beforeMinorities.ReplaceAllString(label, "")))
			if ok && m.Key == "net_income" {
				return "profit", 0
			}
			return "", 0
		}
	}
	if match := attributed.FindStringSubmatchIndex(label); match != nil {
		if otherHolders.MatchString(label[match[2]:match[3]]) { // the text after "attributable to"
			return "", 0
		}
		rank = 2
		if toCommon.MatchString(label[match[0]:]) { // the amount after preferred dividends, not the shareholders' part
			rank = -1
		}
		label = label[:match[0]]
	}
	if issuer != nil && issuer.MatchString(label) { // the shareholders' part of an amount
		label = issuer.ReplaceAllString(label, " ")
		rank = max(rank, 2)
	}
	if short := tailWords.ReplaceAllString(label, ""); short != "" {
		label = short
	}
	label = strings.Trim(strings.Join(strings.Fields(label), " "), " ,:;")
	if netWord.MatchString(label) && rank == 0 {
		rank = 1
	}
	if kind == kernel.CashFlow && balanceWord.MatchString(label) { // cash at the beginning or the end
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
		return conceptByPattern(label, kind), rank - 1
	}
	if m.Ratio || !belongs(m, kind) {
		return "", 0
	}
	return m.Key, rank
}

// belongs reports whether statements of a kind report m.
func belongs(m kernel.Metric, kind kernel.Statement) bool {
	switch kind { //nolint:exhaustive // the third primary statement is below
	case kernel.Balance:
		return m.Instant && (m.Statement == kernel.Balance ||
			slices.Contains([]string{"deferred_tax_assets", "deferred_tax_liabilities"}, m.Key))
	case kernel.CashFlow:
		return !m.Instant && m.Statement == kernel.CashFlow
	}
	return !m.Instant && (m.Statement == kernel.Income || m.Key == "dividends_per_share")
}

// shareConcept returns the concept of a row with earnings per share or a number of shares, or the empty string.
func shareConcept(label, group string) string {
	groupAndLabel := group + " " + label
	if otherHolders.MatchString(label) || len(label) > 110 {
		return ""
	}
	lower := strings.ToLower(label)
	if strings.Contains(lower, "dividend") {
		return ""
	}
	plain := strings.Trim(lower, " ,.:()")
	hasAnyPrefix := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(plain, prefix) })
	}
	namesKind := hasAnyPrefix("basic", "dilut", "assuming dilution") // "basic" alone below a heading
	// "Shares used in per share calculation" is a number of shares, although it has the words "per share".
	labelCounts := shareCount.MatchString(label) &&
		!perShare.MatchString(strings.ReplaceAll(lower, "used in per share", ""))
	switch {
	case labelCounts, shareCount.MatchString(group) && namesKind:
		return basicOrDiluted(groupAndLabel, label, "shares_basic", "shares_diluted")
	case perShare.MatchString(label),
		perShare.MatchString(group) && (namesKind || hasAnyPrefix("net income", "net earnings", "total")):
		return basicOrDiluted(groupAndLabel, label, "eps_basic", "eps_diluted")
	}
	return ""
}

// isPerShare reports whether a row below a heading of earnings per share contains earnings per share. Rows that name
// another metric, such as revenue, do not belong to the heading.
func isPerShare(label string) bool {
	m, ok := metrics.ByLabel(label)
	return !ok || m.Key == "net_income" || attributed.MatchString(label)
}

// basicOrDiluted returns basicKey or dilutedKey for a row, judged by its label, or else by the group above it together
// with the label. It returns the empty string if neither says basic or diluted.
func basicOrDiluted(groupAndLabel, label, basicKey, dilutedKey string) string {
	for _, text := range []string{label, groupAndLabel} {
		isBasic, isDiluted := basic.MatchString(text), diluted.MatchString(text)
		switch {
		case isBasic && !isDiluted:
			return basicKey
		case isDiluted && !isBasic:
			return dilutedKey
		}
	}
	return ""
}
