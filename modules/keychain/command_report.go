package keychain

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// reportCommand returns the command that reports the usage of one user.
func reportCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report --user <id> [--from <day>] [--to <day>] [--by <group>,…]",
		Short: "Reports a user's requests, spending and latency",
		Args:  cobra.NoArgs,
	}
	flags := cmd.Flags()
	period := newPeriodFlags(flags)
	groups := flags.StringSlice("by", nil, "Grouping: provider, model, day, hour, key, tier (default: provider,model,day)")
	cmd.RunE = o.runForUser(func(s *session) error {
		q := spending.UsageQuery{Group: *groups}
		if err := period.read(&q.From, &q.To); err != nil {
			return err
		}
		report, err := s.spending.Usage(s.Ctx, s.user, q)
		if err != nil {
			return err
		}
		return s.Table(report, func(w io.Writer) { showReport(w, report) })
	})
	return cmd
}

// periodFlags are the flags for the period of a report.
type periodFlags struct{ from, to *string }

// newPeriodFlags adds the flags --from and --to to a command.
func newPeriodFlags(set *pflag.FlagSet) periodFlags {
	return periodFlags{
		set.String("from", "", "Start, such as 2027-01-31 or 2027-01-31T18:00:00Z (default: 30 days before the end)"),
		set.String("to", "", "End, exclusive (default: now)"),
	}
}

// read sets *start if the flag --from was given, and *end if --to was given.
func (f periodFlags) read(start, end *time.Time) (err error) {
	for _, flag := range []struct {
		name, text string
		target     *time.Time
	}{{"from", *f.from, start}, {"to", *f.to, end}} {
		if flag.text == "" {
			continue
		}
		if *flag.target, err = parseMoment(flag.text); err != nil {
			return fmt.Errorf("--%s: %w", flag.name, err)
		}
	}
	return nil
}

// parseMoment parses a day in UTC or a time.
func parseMoment(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if moment, err := time.Parse(layout, text); err == nil {
			return moment, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2027-01-31 or 2027-01-31T18:00:00Z", text)
}

// showReport prints a usage report: a line with the totals, then the lines of each grouping.
func showReport(w io.Writer, r *spending.UsageReport) {
	cli.Row(w, "BY", "", "REQUESTS", "SUCCEEDED", "FAILED", "CANCELLED", "TRIES FAILED", "TOKENS IN", "OUT", "USD",
		"UNPRICED", "SECONDS", "FIRST TOKEN")
	line := func(group, name string, s *spending.UsageSums) {
		cli.Row(w, group, name, s.Requests, s.Succeeded, s.Failed, s.Cancelled, s.FailedAttempts, s.InputTokens,
			s.OutputTokens, s.CostUSD, s.UnpricedRequests, seconds(s.LatencyMSAvg), seconds(s.FirstTokenMSAvg))
	}
	line("all", formatTime(&r.From)+" to "+formatTime(&r.To), &r.Totals)
	for _, group := range []struct {
		by    string
		lines []spending.UsageGroup
		name  func(g *spending.UsageGroup) string
	}{
		{"provider", r.ByProvider, func(g *spending.UsageGroup) string { return *g.Provider }},
		{"model", r.ByModel, func(g *spending.UsageGroup) string {
			if *g.Model == "" {
				return ""
			}
			return *g.Provider + "/" + *g.Model
		}},
		{"day", r.ByDay, func(g *spending.UsageGroup) string { return g.Day }},
		{"hour", r.ByHour, func(g *spending.UsageGroup) string { return formatTime(g.Hour) }},
		{"key", r.ByKey, func(g *spending.UsageGroup) string { return *g.KeyID }},
		{"tier", r.ByTier, func(g *spending.UsageGroup) string { return *g.Tier }},
	} {
		for i := range group.lines {
			line(group.by, group.name(&group.lines[i]), &group.lines[i].UsageSums)
		}
	}
}

// seconds formats an average in milliseconds as seconds. It returns "" if there is no average.
func seconds(milliseconds *float64) string {
	if milliseconds == nil {
		return ""
	}
	return strconv.FormatFloat(*milliseconds/1000, 'f', 3, 64)
}
