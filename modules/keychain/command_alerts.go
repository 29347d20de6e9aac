package keychain

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// alertsCommand returns the command that lists sent alerts.
func alertsCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alerts [--limit <n>]",
		Short: "Lists the alerts that were sent, newest first",
		Args:  cobra.NoArgs,
	}
	limit := cmd.Flags().Int("limit", 20, "Number of rows, from 1 to 500")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		if *limit < 1 || *limit > 500 {
			return fmt.Errorf("--limit must be from 1 to 500")
		}
		list, err := s.Alerts(s.Ctx, *limit)
		if err != nil {
			return err
		}
		return s.Table(cli.List(list), func(w io.Writer) { showAlerts(w, list) })
	})
	return cmd
}

// showAlerts prints a table of alerts.
func showAlerts(w io.Writer, list []alerts.Sent) {
	cli.Row(w, "AT", "ON", "HOLDER", "BUDGET", "PERCENT", "SPENT", "OF", "MESSAGES")
	for i := range list {
		a := &list[i]
		holder, budget, percent, spent, amount := a.Holder, a.Budget, "", "", ""
		if a.Name != "" {
			holder = a.Name
		}
		switch a.Kind {
		case alerts.KindBudget:
			percent, spent, amount = fmt.Sprint(a.Threshold), fmt.Sprint(a.Spent), fmt.Sprint(a.Amount)
		case alerts.KindErrors, alerts.KindErrorsEnd:
			budget, percent, spent, amount = a.Kind, fmt.Sprint(a.Threshold), fmt.Sprint(*a.Errors), fmt.Sprint(*a.Requests)
		case alerts.KindLatency, alerts.KindLatencyEnd:
			budget, spent, amount = a.Kind, fmt.Sprint(*a.LatencyMS, "ms"), fmt.Sprint(*a.LimitMS, "ms")
		}
		messages := make([]string, 0, len(a.Messages))
		for _, m := range a.Messages {
			messages = append(messages, m.Target+" "+m.State)
		}
		cli.Row(w, formatTime(&a.At), a.On, holder, budget, percent, spent, amount, strings.Join(messages, ", "))
	}
}
