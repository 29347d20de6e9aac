package management

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/overview"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// overviewRoute returns the route of the operator's overview.
func (s *Service) overviewRoute() rest.Route {
	return rest.Route{
		Method: "GET", Path: "/operator/overview", Serve: s.forOperator(s.overview), Answer: "Overview",
		Summary: "Show spending, errors and latency of all users",
		Description: "The answer has the spending of today and of this month with a forecast, and requests, errors and percentiles of latency over time, by model and by team. " +
			"Percentiles are off by a quarter at most. Usage of the last second may be missing.",
		Query: []rest.Param{
			{Name: "from", Description: "First day, in UTC. Default: 30 days before the end.", Schema: `{"type":"string"}`},
			{
				Name:        "to",
				Description: "End of the period; that day is not included. At most 31 days after from. Default: tomorrow.",
				Schema:      `{"type":"string"}`,
			},
		},
	}
}

// overview returns the overview of a period.
func (s *Service) overview(c *rest.Call) (any, error) {
	start, err := c.Time("from")
	if err != nil {
		return nil, err
	}
	end, err := c.Time("to")
	if err != nil {
		return nil, err
	}
	source := overview.Source{Ledger: s.Spending, DB: s.Keychain.DB(), Now: time.Now}
	return source.Read(c.R.Context(), start, end)
}
