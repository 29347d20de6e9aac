package e2e

import (
	"fmt"
	"time"
)

// Submission is the path and query with which the node x submits a report.
const Submission = "/store/cmd/v1?command=store_report&version=8&certname=x"

// AgentRunAt returns a report by the agent of the node certname about a run that began on 2 March 2026 at 10:00 UTC
// plus minutes.
func AgentRunAt(certname string, minutes int) []byte {
	start := time.Date(2026, 3, 2, 10, minutes, 0, 0, time.UTC)
	timestamp := func(second int) string {
		return start.Add(time.Duration(second) * time.Second).Format("2006-01-02T15:04:05.000Z")
	}
	event := func(second int) string {
		return fmt.Sprintf(
			`{"status":"success","timestamp":%q,"property":"ensure","name":null,"new_value":"file","old_value":"absent","message":"created %s","corrective_change":null}`,
			timestamp(second), certname)
	}
	return fmt.Appendf(nil, `{"certname":%q,"puppet_version":"7.23.0","report_format":12,"configuration_version":"v1","start_time":%q,`+
		`"end_time":%q,"producer_timestamp":%q,"producer":null,"environment":"production","transaction_uuid":null,`+
		`"catalog_uuid":null,"code_id":null,"cached_catalog_status":null,"status":"changed","noop":false,"noop_pending":false,"corrective_change":null,`+
		`"resources":[{"skipped":false,"timestamp":%q,"resource_type":"File","resource_title":"/srv/%s","file":null,"line":null,`+
		`"containment_path":["Stage[main]","A"],"corrective_change":null,"events":[%s,%s,%s]}],"metrics":[],"logs":[]}`,
		certname, timestamp(0), timestamp(9), timestamp(10), timestamp(1), certname, event(1), event(2), event(3))
}
