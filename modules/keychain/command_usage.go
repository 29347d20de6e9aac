package keychain

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// request is a row of the usage log in its JSON form. Times are in milliseconds; unknown values are null.
type request struct {
	ID              int64              `json:"id"`
	At              time.Time          `json:"at"`
	RequestID       string             `json:"request_id"`
	KeyID           string             `json:"key_id"`
	Surface         string             `json:"surface"`
	AskedModel      string             `json:"asked_model"`
	Tier            *string            `json:"tier"`
	Provider        *string            `json:"provider"`
	Model           *string            `json:"model"`
	ProviderKey     *string            `json:"provider_key_id"`
	Stream          bool               `json:"stream"`
	Status          int                `json:"status"`
	Code            *string            `json:"code"`
	Attempts        int                `json:"attempts"`
	FailedAttempts  []apierror.Attempt `json:"failed_attempts"`
	InputTokens     int64              `json:"input_tokens"`
	CachedTokens    int64              `json:"cached_tokens"`
	OutputTokens    int64              `json:"output_tokens"`
	ReasoningTokens int64              `json:"reasoning_tokens"`
	UsageSource     string             `json:"usage_source"`
	CostMicroUSD    *int64             `json:"cost_micro_usd"`
	LatencyMS       float64            `json:"latency_ms"`
	FirstTokenMS    *float64           `json:"first_token_ms"`
	ServedAs        []string           `json:"served_as"`
	ServerTools     map[string]int64   `json:"server_tools"`
}

// newRequest converts a record of the usage log to its JSON form.
func newRequest(r *spending.Record) request {
	out := request{
		ID: r.ID, At: r.At, RequestID: r.RequestID, KeyID: r.KeyID, Surface: r.Surface, AskedModel: r.AskedModel,
		Tier: textOrNull(r.Tier.String()), Provider: textOrNull(r.Provider), Model: textOrNull(r.Model),
		ProviderKey: textOrNull(r.ProviderKey),
		Stream:      r.Stream,
		Status:      r.Status, Code: textOrNull(r.Code), Attempts: r.Attempts, FailedAttempts: cli.List(r.FailedAttempts),
		InputTokens: r.InputTokens, CachedTokens: r.CachedTokens, OutputTokens: r.OutputTokens,
		ReasoningTokens: r.ReasoningTokens, UsageSource: r.UsageSource, LatencyMS: milliseconds(r.Latency),
		ServedAs: cli.List(r.ServedAs), ServerTools: r.ServerTools,
	}
	if out.ServerTools == nil {
		out.ServerTools = map[string]int64{}
	}
	if r.CostKnown {
		out.CostMicroUSD = &r.CostMicroUSD
	}
	if r.FirstToken > 0 {
		first := milliseconds(r.FirstToken)
		out.FirstTokenMS = &first
	}
	return out
}

// textOrNull returns nil for an empty text, otherwise its address.
func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// milliseconds returns d in milliseconds.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// usageCommands returns the commands that show the requests of a user.
func usageCommands(o *options) *cobra.Command {
	recent := &cobra.Command{
		Use:   "recent --user <id> [--limit <n>] [--before <id>]",
		Short: "Lists the last requests of a user, newest first",
		Args:  cobra.NoArgs,
	}
	limit := recent.Flags().Int("limit", 20, "Number of rows, from 1 to 500")
	beforeID := recent.Flags().Int64("before", 0, "List only requests before the one with this id")
	recent.RunE = o.runForUser(func(s *session) error {
		if *limit < 1 || *limit > 500 {
			return fmt.Errorf("--limit must be from 1 to 500")
		}
		if *beforeID < 0 {
			return fmt.Errorf("--before must be the id of a request")
		}
		records, err := s.spending.Recent(s.Ctx, s.user, *beforeID, *limit)
		if err != nil {
			return err
		}
		requests := make([]request, len(records))
		for i := range records {
			requests[i] = newRequest(&records[i])
		}
		return s.Table(requests, func(w io.Writer) { showRequests(w, records) })
	})
	return cli.Group(&cobra.Command{Use: "usage", Short: "Shows the requests of users"}, o.forUser(reportCommand(o)),
		o.forUser(recent))
}

// showRequests prints a table of requests.
func showRequests(w io.Writer, records []spending.Record) {
	cli.Row(w, "ID", "AT", "ASKED", "PROVIDER AND MODEL", "STATUS", "TRIES", "TOKENS IN", "OUT", "USD", "SECONDS")
	for i := range records {
		r := &records[i]
		model, status, cost := "", strconv.Itoa(r.Status), ""
		if r.Model != "" {
			model = r.Provider + "/" + r.Model
		}
		if r.Code != "" {
			status += " " + r.Code
		}
		if r.CostKnown {
			cost = strconv.FormatFloat(float64(r.CostMicroUSD)/1e6, 'f', 6, 64)
		}
		cli.Row(w, r.ID, formatTime(&r.At), r.AskedModel, model, status, r.Attempts, r.InputTokens, r.OutputTokens, cost,
			strconv.FormatFloat(r.Latency.Seconds(), 'f', 3, 64))
	}
}
