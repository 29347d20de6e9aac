package management

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/spreadsheet"
)

// period parses the query parameters "from", "to" and "format" of a report. Absent times are zero, and the default
// format is json.
func period(c *rest.Call) (start, end time.Time, format string, err error) {
	if start, err = c.Time("from"); err != nil {
		return start, end, "", err
	}
	if end, err = c.Time("to"); err != nil {
		return start, end, "", err
	}
	format, err = c.Choice("format", "json", "csv")
	return start, end, format, err
}

func (s *Service) usage(c *rest.Call, user string) (any, error) {
	start, end, format, err := period(c)
	if err != nil {
		return nil, err
	}
	group := c.List("group")
	if format == "csv" && len(group) == 0 {
		group = []string{"day"}
	}
	if format == "csv" && len(group) != 1 {
		return nil, apierror.New(400, "invalid_value",
			"a CSV file has one group: give one of provider, model, day, hour, key, tier").With("group")
	}
	report, err := s.Spending.Usage(c.R.Context(), user, spending.UsageQuery{From: start, To: end, Group: group})
	if err != nil || format == "json" {
		return report, err
	}
	return csvFile(reportRows(report), "usage.csv")
}

// reportRows returns a report as the rows of a CSV file. The first row has the names of the columns. The report must be
// grouped by a single criterion, since the rows of all groups share the columns.
func reportRows(r *spending.UsageReport) [][]string {
	rows := [][]string{{
		"provider", "model", "day", "hour", "key_id", "tier",
		"requests", "succeeded", "failed", "cancelled", "failed_attempts",
		"input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens",
		"total_tokens", "cost_usd", "unpriced_requests", "latency_ms_avg",
		"first_token_ms_avg",
	}}
	for _, lines := range [][]spending.UsageGroup{r.ByProvider, r.ByModel, r.ByDay, r.ByHour, r.ByKey, r.ByTier} {
		for i := range lines {
			l := &lines[i]
			hour := ""
			if l.Hour != nil {
				hour = l.Hour.Format(time.RFC3339)
			}
			rows = append(rows, []string{
				deref(l.Provider), deref(l.Model), l.Day, hour, deref(l.KeyID), deref(l.Tier),
				number(l.Requests), number(l.Succeeded), number(l.Failed), number(l.Cancelled), number(l.FailedAttempts),
				number(l.InputTokens), number(l.CachedTokens), number(l.OutputTokens), number(l.ReasoningTokens),
				number(l.TotalTokens), money(int64(l.CostUSD)), number(l.UnpricedRequests), average(l.LatencyMSAvg),
				average(l.FirstTokenMSAvg),
			})
		}
	}
	return rows
}

// deref returns the string that s points to, or an empty string for nil.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// money returns an amount in millionths of a dollar as dollars with six decimals.
func money(micro int64) string { return strconv.FormatFloat(float64(micro)/1e6, 'f', 6, 64) }

// average returns an average with one decimal, or an empty string for nil.
func average(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', 1, 64)
}

// requestRecord is one request of the usage log.
type requestRecord struct {
	ID              string             `json:"request_id"`
	At              time.Time          `json:"at"`
	KeyID           string             `json:"key_id"`
	Surface         string             `json:"surface"`
	AskedModel      string             `json:"asked_model"`
	Tier            *string            `json:"tier"`
	Provider        *string            `json:"provider"`
	Model           *string            `json:"model"`
	ProviderKey     *string            `json:"provider_key_id"`
	Stream          bool               `json:"stream"`
	Status          int                `json:"status"`
	Error           *string            `json:"error"`
	Attempts        []apierror.Attempt `json:"attempts"`
	AttemptCount    int                `json:"attempt_count"`
	InputTokens     int64              `json:"input_tokens"`
	CachedTokens    int64              `json:"cached_tokens"`
	OutputTokens    int64              `json:"output_tokens"`
	ReasoningTokens int64              `json:"reasoning_tokens"`
	UsageSource     string             `json:"usage_source"`
	CostUSD         *float64           `json:"cost_usd"`
	LatencyMS       int64              `json:"latency_ms"`
	FirstTokenMS    *int64             `json:"first_token_ms"`
	ServedAs        []string           `json:"served_as"`
	ServerTools     map[string]int64   `json:"server_tools"`
}

func (s *Service) recent(c *rest.Call, user string) (any, error) {
	limit, err := c.Int("limit", 20, 1, 500)
	if err != nil {
		return nil, err
	}
	cursor, err := c.Cursor("cursor")
	if err != nil {
		return nil, err
	}
	format, err := c.Choice("format", "json", "csv")
	if err != nil {
		return nil, err
	}
	records, err := s.Spending.Recent(c.R.Context(), user, cursor, limit)
	if err != nil {
		return nil, err
	}
	list := make([]requestRecord, len(records))
	for i := range records {
		list[i] = recordOf(&records[i])
	}
	if format == "csv" {
		return csvFile(recordRows(list), "requests.csv")
	}
	answer := struct {
		Requests []requestRecord `json:"requests"`
		Next     *string         `json:"next_cursor"`
	}{Requests: list}
	if len(records) == limit {
		answer.Next = cursorAt(records[limit-1].ID)
	}
	return answer, nil
}

// recordOf converts a record for the response. The attempts of the result are the failed ones and then, if a provider
// answered, the successful one. The latency of the successful attempt is the request's latency minus the latencies of
// the failed attempts.
func recordOf(r *spending.Record) requestRecord {
	out := requestRecord{
		ID: r.RequestID, At: r.At, KeyID: r.KeyID, Surface: r.Surface, AskedModel: r.AskedModel, Tier: text(r.Tier.String()),
		Provider: text(r.Provider), Model: text(r.Model), ProviderKey: text(r.ProviderKey), Stream: r.Stream,
		Status: r.Status, Error: text(r.Code), Attempts: orEmpty(r.FailedAttempts), AttemptCount: r.Attempts,
		InputTokens: r.InputTokens, CachedTokens: r.CachedTokens, OutputTokens: r.OutputTokens,
		ReasoningTokens: r.ReasoningTokens, UsageSource: r.UsageSource, LatencyMS: r.Latency.Milliseconds(),
		ServedAs: orEmpty(r.ServedAs), ServerTools: r.ServerTools,
	}
	if out.ServerTools == nil {
		out.ServerTools = map[string]int64{}
	}
	if r.CostKnown {
		usd := float64(r.CostMicroUSD) / 1e6
		out.CostUSD = &usd
	}
	if r.FirstToken > 0 {
		ms := r.FirstToken.Milliseconds()
		out.FirstTokenMS = &ms
	}
	if r.Provider != "" && r.Status == http.StatusOK {
		var failed int64
		for _, a := range r.FailedAttempts {
			failed += a.LatencyMS
		}
		out.Attempts = append(slices.Clip(out.Attempts), apierror.Attempt{
			Provider: r.Provider, Model: r.Model, Status: 200, LatencyMS: max(0, out.LatencyMS-failed),
		})
	}
	return out
}

// text returns nil, which is null in JSON, for an empty string, and otherwise a pointer to s.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// recordRows returns requests as the rows of a CSV file. The first row has the names of the columns.
func recordRows(list []requestRecord) [][]string {
	rows := append(make([][]string, 0, 1+len(list)), []string{
		"at", "request_id", "key_id", "surface", "asked_model", "tier", "provider", "model", "stream", "status",
		"error", "attempts",
		"input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "usage_source", "cost_usd", "latency_ms",
		"first_token_ms", "provider_key_id", "served_as", "server_tools",
	})
	for i := range list {
		r := &list[i]
		cost, firstToken := "", ""
		if r.CostUSD != nil {
			cost = strconv.FormatFloat(*r.CostUSD, 'f', 6, 64)
		}
		if r.FirstTokenMS != nil {
			firstToken = number(*r.FirstTokenMS)
		}
		rows = append(rows, []string{
			r.At.Format(time.RFC3339Nano), r.ID, r.KeyID, r.Surface, r.AskedModel, deref(r.Tier), deref(r.Provider),
			deref(r.Model), strconv.FormatBool(r.Stream), strconv.Itoa(r.Status), deref(r.Error),
			strconv.Itoa(r.AttemptCount), number(r.InputTokens), number(r.CachedTokens), number(r.OutputTokens),
			number(r.ReasoningTokens), r.UsageSource, cost, number(r.LatencyMS), firstToken, deref(r.ProviderKey),
			strings.Join(r.ServedAs, " "), toolCalls(r.ServerTools),
		})
	}
	return rows
}

// toolCalls returns a text such as "file_search=1 web_search=3".
func toolCalls(tools map[string]int64) string {
	words := make([]string, 0, len(tools))
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		words = append(words, tool+"="+number(tools[tool]))
	}
	return strings.Join(words, " ")
}

// csvFile returns rows as a CSV file with the given name.
func csvFile(rows [][]string, name string) (any, error) {
	var out bytes.Buffer
	w := spreadsheet.NewWriter(&out)
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	err := w.Flush()
	return rest.Raw{Type: spreadsheet.Type, Name: name, Data: out.Bytes()}, err
}
