package keychain

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

func reportCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report --user <id> [--from <day>] [--to <day>] [--by <group>,…]",
		Short: "Sums up what a user asked for, spent and waited",
		Args:  cobra.NoArgs,
	}
	flags := cmd.Flags()
	from := flags.String("from", "", "Begin, such as 2027-01-31 or 2027-01-31T18:00:00Z (default: 30 days before the end)")
	to := flags.String("to", "", "End, itself not in the report (default: now)")
	by := flags.StringSlice("by", nil, "What to sum by: provider, model, day, hour, key, tier (default: provider,model,day)")
	cmd.RunE = o.show(func(s *session) error {
		q := keychain.UsageQuery{Group: *by}
		for flag, part := range map[string]struct {
			text string
			into *time.Time
		}{"from": {*from, &q.From}, "to": {*to, &q.To}} {
			if part.text == "" {
				continue
			}
			at, err := parseMoment(part.text)
			if err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
			*part.into = at
		}
		report, err := s.Usage(s.Ctx, s.user, q)
		if err != nil {
			return err
		}
		return s.Table(report, func(w io.Writer) { showReport(w, report) })
	})
	return cmd
}

// parseMoment reads a day in UTC or a time.
func parseMoment(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time such as 2027-01-31 or 2027-01-31T18:00:00Z", text)
}

func showReport(w io.Writer, r *keychain.UsageReport) {
	cli.Row(w, "BY", "", "REQUESTS", "SUCCEEDED", "FAILED", "CANCELLED", "TRIES FAILED", "TOKENS IN", "OUT", "USD", "UNPRICED", "SECONDS", "FIRST TOKEN")
	line := func(by, name string, s *keychain.UsageSums) {
		cli.Row(w, by, name, s.Requests, s.Succeeded, s.Failed, s.Cancelled, s.FailedAttempts, s.InputTokens, s.OutputTokens, s.CostUSD, s.UnpricedRequests,
			seconds(s.LatencyMSAvg), seconds(s.FirstTokenMSAvg))
	}
	line("all", when(&r.From)+" to "+when(&r.To), &r.Totals)
	for _, group := range []struct {
		by    string
		lines []keychain.UsageGroup
		name  func(g *keychain.UsageGroup) string
	}{
		{"provider", r.ByProvider, func(g *keychain.UsageGroup) string { return *g.Provider }},
		{"model", r.ByModel, func(g *keychain.UsageGroup) string {
			if *g.Model == "" {
				return ""
			}
			return *g.Provider + "/" + *g.Model
		}},
		{"day", r.ByDay, func(g *keychain.UsageGroup) string { return g.Day }},
		{"hour", r.ByHour, func(g *keychain.UsageGroup) string { return when(g.Hour) }},
		{"key", r.ByKey, func(g *keychain.UsageGroup) string { return *g.KeyID }},
		{"tier", r.ByTier, func(g *keychain.UsageGroup) string { return *g.Tier }},
	} {
		for i := range group.lines {
			line(group.by, group.name(&group.lines[i]), &group.lines[i].UsageSums)
		}
	}
}

// seconds is empty where there is no average.
func seconds(milliseconds *float64) string {
	if milliseconds == nil {
		return ""
	}
	return strconv.FormatFloat(*milliseconds/1000, 'f', 3, 64)
}
