package runevents

import (
	"crypto/sha1" //nolint:gosec // the wire format names reports by SHA-1
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

const (
	// maxName limits the length of texts that are indexed, in bytes.
	maxName = 1000
	// maxDays limits the number of days that the events of one report cover, because each day may need a partition.
	maxDays = 62
	// maxAhead limits how far the times of reports, events and deactivations may be in the future. Times from a wrong
	// clock would create partitions that are never purged, or deactivate a node whatever it reports afterwards.
	maxAhead = 7 * day
)

// report is a parsed report.
type report struct {
	hash                 [sha1.Size]byte
	certname             string
	environment          string
	puppetVersion        string
	configurationVersion string
	kind                 string // agent or plan
	status               sql.NullString
	producer             sql.NullString
	transactionUUID      sql.NullString
	catalogUUID          sql.NullString
	codeID               sql.NullString
	jobID                sql.NullString
	cachedCatalogStatus  sql.NullString
	noop, noopPending    sql.NullBool
	correctiveChange     sql.NullBool
	format               int64
	start, end           int64 // Unix milliseconds, as all times of the report
	producerTimestamp    int64
	receiveTime          int64
	events               []event
	resources            []resource
	changes              []change
	logs, metrics        []byte // packed

	inboxRow int64  // run_inbox.id; 0 if the report is not in the inbox
	version  int    // of the command
	since    int64  // events before this time, in Unix milliseconds, were left out
	size     int    // bytes of the payload
	payload  []byte // compressed, for the inbox
}

// event is an event of a report. resource and change are indexes into the lists of the report.
type event struct {
	timestamp        int64
	status           string
	resource, change int
	corrective       sql.NullBool
}

// digest is the key of a resource or change, which is stored once, however often it is used: a hash of its values.
type digest [16]byte

// resource is a resource with its position in the catalog.
type resource struct {
	digest          digest
	kind, title     string
	file            sql.NullString
	line            sql.NullInt64
	containingClass sql.NullString
	containmentPath sql.NullString // JSON
}

// change is the part of an event that describes the change of a property.
type change struct {
	digest             digest
	property, name     sql.NullString
	oldValue, newValue sql.NullString // canonical JSON
	message            sql.NullString
}

// The members of a report, as bits.
const (
	memberCertname = 1 << iota
	memberPuppetVersion
	memberFormat
	memberConfiguration
	memberStart
	memberEnd
	memberProducerTimestamp
	memberEnvironment
	memberTransaction
	memberStatus
	memberNoop
	memberResources
	memberMetrics
	memberLogs
	memberCatalog // since version 7
	memberCode
	memberCached
	memberProducer // since version 8
	memberNoopPending
	memberCorrective
	memberJob
	memberType
)

// memberNames are the names of the members, in the order of their bits.
var memberNames = [...]string{
	"certname", "puppet_version", "report_format", "configuration_version", "start_time", "end_time", "producer_timestamp",
	"environment",
	"transaction_uuid", "status", "noop", "resources", "metrics", "logs", "catalog_uuid", "code_id",
	"cached_catalog_status", "producer",
	"noop_pending", "corrective_change", "job_id", "type",
}

// The members that every report must have, and those that reports of each version may have. A member that may be null
// may also be missing.
const (
	required = memberCertname | memberPuppetVersion | memberFormat | memberConfiguration | memberStart | memberEnd |
		memberProducerTimestamp |
		memberEnvironment | memberResources | memberMetrics | memberLogs
	since6 = memberCatalog - 1
	since7 = memberProducer - 1
	since8 = memberType<<1 - 1
)

// setHash sets the hash of the report, which is the SHA-1 of eight members as compact JSON.
func (p *report) setHash() {
	b := make([]byte, 0, 512)
	b = jsontext.AppendQuoted(append(b, `{"certname":`...), p.certname)
	b = jsontext.AppendQuoted(append(b, `,"configuration_version":`...), p.configurationVersion)
	b = append(syntax.AppendTime(append(b, `,"end_time":"`...), p.end), '"')
	b = append(syntax.AppendTime(append(b, `,"producer_timestamp":"`...), p.producerTimestamp), '"')
	b = jsontext.AppendQuoted(append(b, `,"puppet_version":`...), p.puppetVersion)
	b = strconv.AppendInt(append(b, `,"report_format":`...), p.format, 10)
	b = append(syntax.AppendTime(append(b, `,"start_time":"`...), p.start), '"')
	b = append(b, `,"transaction_uuid":`...)
	if p.transactionUUID.Valid {
		b = jsontext.AppendQuoted(b, p.transactionUUID.String)
	} else {
		b = append(b, "null"...)
	}
	p.hash = sha1.Sum(append(b, '}')) //nolint:gosec // as above
}

// checkAhead returns an error if a timestamp is more than maxAhead in the future. label names the timestamp in the
// error.
func checkAhead(label string, timestamp int64, now time.Time) error {
	if timestamp <= now.Add(maxAhead).UnixMilli() {
		return nil
	}
	return fmt.Errorf("%s is %s, more than %d days ahead of the clock of this server",
		label, syntax.AppendTime(nil, timestamp), maxAhead/day)
}

// checkTimes returns an error if a time of the report is too far in the future.
func (p *report) checkTimes(now time.Time) error {
	if err := checkAhead("report: producer_timestamp", p.producerTimestamp, now); err != nil {
		return err
	}
	for i := range p.events {
		if err := checkAhead("report: the timestamp of an event", p.events[i].timestamp, now); err != nil {
			return err
		}
	}
	return nil
}

// checkDays returns an error if the events cover more than maxDays days.
func (p *report) checkDays() error {
	days := make(map[int64]struct{}, 2)
	for i := range p.events {
		days[dayOf(p.events[i].timestamp)] = struct{}{}
		if len(days) > maxDays {
			return fmt.Errorf("report: its events lie on more than %d days", maxDays)
		}
	}
	return nil
}
