package runevents

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// members returns the members, as bits, that a report of the given version may have.
func members(version int) int {
	switch {
	case version >= 8:
		return since8
	case version == 7:
		return since7
	}
	return since6
}

// reader parses the payload of a command. Most of its methods read the next value. Like those of the scanner, they
// store an error in err instead of returning it.
type reader struct {
	scanner
	*workspace
	version       int // of the command
	report        *report
	metricsText   []byte // the metrics as they were sent
	skippedChange int    // index of the change of skipped resources; -1 until it is added
	oldest        int64  // events before this time, in Unix milliseconds, are left out
}

// workspace contains buffers for parsing a report, which are used again for the next report.
type workspace struct {
	seenEvents map[eventKey]struct{}
	buffer     []byte
	logsText   []byte // the logs with times in UTC

	// The lists of the report that is being parsed.
	events    []event
	resources []resource
	changes   []change
}

// workspaces is a pool of unused workspaces. A workspace that a long report has enlarged is not returned to the pool.
var workspaces = sync.Pool{New: func() any { return &workspace{seenEvents: make(map[eventKey]struct{}, 64)} }}

const (
	maxPooledList   = 256
	maxPooledBuffer = 256 << 10
)

// release clears the workspace and returns it to the pool.
func (w *workspace) release() {
	if max(len(w.seenEvents), cap(w.events), cap(w.resources), cap(w.changes)) > maxPooledList ||
		max(cap(w.buffer), cap(w.logsText)) > maxPooledBuffer {
		return
	}
	clear(w.seenEvents)
	// Otherwise the strings beyond the end of a slice would stay in memory.
	clear(w.events[:cap(w.events)])
	clear(w.resources[:cap(w.resources)])
	clear(w.changes[:cap(w.changes)])
	workspaces.Put(w)
}

// lend lets a report use the slices of the workspace, until takeBack is called.
func (w *workspace) lend(p *report) {
	p.events, p.resources, p.changes = w.events[:0], w.resources[:0], w.changes[:0]
}

// takeBack takes back the slices of the workspace, and gives the report copies of the exact length.
func (w *workspace) takeBack(p *report) {
	w.events, w.resources, w.changes = p.events, p.resources, p.changes
	p.events, p.resources, p.changes = slices.Clone(p.events), slices.Clone(p.resources), slices.Clone(p.changes)
}

// eventKey identifies an event within a report.
type eventKey struct {
	kind, title, file, status string
	line, timestamp           int64
	hasFile, hasLine          bool
	change                    digest
}

// memberSet is a set of the members of an object that have been read. For an event or a resource it contains required
// members only; for a metric or a log entry, all members.
type memberSet uint8

// The members of events and resources.
const (
	seenStatus memberSet = 1 << iota
	seenTimestamp
	seenType
	seenTitle
)

// The members of a metric.
const (
	seenCategory memberSet = 1 << iota
	seenName
	seenValue
)

// The members of a log entry.
const (
	seenLevel memberSet = 1 << iota
	seenMessage
	seenSource
	seenTags
	seenTime
	seenFile
	seenLine
)

// jsonNull is the value of a property that was sent as null or is missing: the JSON text null, which differs from NULL.
var jsonNull = sql.NullString{String: "null", Valid: true}

// parseReport parses the payload of "store report" in the given version. It leaves out events before oldest, in Unix
// milliseconds.
func parseReport(version int, payload []byte, oldest int64) (*report, error) {
	if !utf8.Valid(payload) {
		return nil, errNotUTF8
	}
	r := &reader{
		scanner: newScanner(payload), workspace: workspaces.Get().(*workspace), version: version, oldest: oldest,
		skippedChange: -1, report: &report{kind: "agent"},
	}
	r.lend(r.report)
	if err := r.read(); err != nil {
		return nil, err
	}
	r.takeBack(r.report)
	r.release()
	r.report.setHash()
	return r.report, nil
}

// read parses a report into r.report. It returns an error if a member is missing, occurs twice, or does not belong to
// the version of the report.
func (r *reader) read() error {
	seen, allowed := 0, members(r.version) // sets of bits
	var name []byte
	for r.object(); r.member(&name); {
		bit := r.reportMember(r.report, name)
		switch {
		case r.err != nil:
			r.err = fmt.Errorf("report: %s: %w", rest.Quote(string(name)), r.err)
		case bit&allowed == 0:
			r.fail("report: there is no member %q in version %d", rest.Quote(string(name)), r.version)
		case bit&seen != 0:
			r.fail("report: %s is given twice", rest.Quote(string(name)))
		}
		seen |= bit
	}
	if err := r.end(); err != nil {
		return err
	}
	if missing := required &^ seen; missing != 0 {
		return fmt.Errorf("report: %s is missing", memberNames[bits.TrailingZeros(uint(missing))])
	}
	p := r.report
	if p.certname == "" {
		return errors.New("report: certname is empty")
	}
	if p.kind != "agent" && p.kind != "plan" {
		return errors.New("report: type must be agent or plan")
	}
	if err := p.checkDays(); err != nil {
		return err
	}
	p.logs, p.metrics = packed.Pack(r.logsText), packed.Pack(r.metricsText)
	return nil
}

// reportMember reads the value of the named member into p, and returns the member's bit. If there is no such member in
// any version, or if the member has another name in this version, it reads nothing and returns 0.
func (r *reader) reportMember(p *report, name []byte) (bit int) {
	switch string(name) {
	case "certname":
		bit, p.certname = memberCertname, r.name("certname")
	case "puppet_version":
		bit, p.puppetVersion = memberPuppetVersion, r.name("puppet_version")
	case "report_format":
		bit, p.format = memberFormat, r.integer32()
	case "configuration_version":
		bit, p.configurationVersion = memberConfiguration, r.string()
	case "start_time":
		bit, p.start = memberStart, r.instant()
	case "end_time":
		bit, p.end = memberEnd, r.instant()
	case "producer_timestamp":
		bit, p.producerTimestamp = memberProducerTimestamp, r.instant()
	case "environment":
		bit, p.environment = memberEnvironment, r.name("environment")
	case "transaction_uuid":
		bit, p.transactionUUID = memberTransaction, r.nullText()
	case "status":
		bit, p.status = memberStatus, r.nullName("status")
	case "noop":
		bit, p.noop = memberNoop, r.nullBool()
	case "resources":
		if r.version > 5 {
			bit = memberResources
			r.resources()
		}
	case "resource_events":
		if r.version == 5 {
			bit = memberResources
			r.resourceEvents()
		}
	case "metrics":
		bit = memberMetrics
		start := r.text.Start()
		r.metrics()
		r.metricsText = r.text.Since(start)
	case "logs":
		bit = memberLogs
		r.logsText = r.logs(r.logsText[:0])
	case "catalog_uuid":
		bit, p.catalogUUID = memberCatalog, r.nullText()
	case "code_id":
		bit, p.codeID = memberCode, r.nullName("code_id")
	case "cached_catalog_status":
		bit, p.cachedCatalogStatus = memberCached, r.nullName("cached_catalog_status")
	case "producer":
		bit, p.producer = memberProducer, r.nullName("producer")
	case "noop_pending":
		bit, p.noopPending = memberNoopPending, r.nullBool()
	case "corrective_change":
		bit, p.correctiveChange = memberCorrective, r.nullBool()
	case "job_id":
		bit, p.jobID = memberJob, r.nullText()
	case "type":
		bit = memberType
		if !r.null() {
			p.kind = r.string()
		}
	}
	return bit
}

// resources reads the list of resources with their events.
func (r *reader) resources() {
	for r.list(); r.element(); {
		r.resource()
	}
}

// resource reads an element of "resources" with its events. If the agent has skipped the resource, it gets one event
// with the status "skipped" instead of these events.
func (r *reader) resource() {
	var (
		res         resource
		timestamp   int64
		isSkipped   bool
		seen        memberSet
		firstEvent  = len(r.report.events)
		firstChange = len(r.report.changes)
		index       = len(r.report.resources)
	)
	var name []byte
	for r.object(); r.member(&name); {
		switch string(name) {
		case "skipped":
			if !r.null() {
				isSkipped = r.boolean()
			}
		case "timestamp":
			timestamp, seen = r.instant(), seen|seenTimestamp
		case "corrective_change":
			r.nullBool()
		case "events":
			for r.list(); r.element(); {
				r.event(index)
			}
		default:
			if !r.resourceMember(&res, &seen, name) {
				r.fail("a resource has no member %q", rest.Quote(string(name)))
			}
		}
	}
	if r.err != nil {
		return
	}
	if seen != seenTimestamp|seenType|seenTitle {
		r.fail("a resource lacks its timestamp, resource_type or resource_title")
		return
	}
	if isSkipped { // drop the events that were read above
		r.report.events, r.report.changes = r.report.events[:firstEvent], r.report.changes[:firstChange]
		if timestamp >= r.oldest {
			e := event{timestamp: timestamp, status: "skipped", resource: index, change: r.changeOfSkipped()}
			r.report.events = append(r.report.events, e)
		}
	}
	r.addResource(res, firstEvent)
}

// addResource adds a resource to the report. The events of the resource have been added to the report already,
// beginning at the index first. addResource drops duplicate events, and it drops the resource if no events are left.
func (r *reader) addResource(res resource, first int) {
	events := r.report.events
	end := first // of the events that are not duplicates
	for _, e := range events[first:] {
		key := eventKey{
			kind: res.kind, title: res.title, file: res.file.String, hasFile: res.file.Valid, line: res.line.Int64,
			hasLine: res.line.Valid,
			status:  e.status, timestamp: e.timestamp, change: r.report.changes[e.change].digest,
		}
		if _, duplicate := r.seenEvents[key]; duplicate {
			continue
		}
		r.seenEvents[key] = struct{}{}
		events[end] = e
		end++
	}
	r.report.events = events[:end]
	if end == first {
		return
	}
	res.digest = r.digest(
		sql.NullString{String: res.kind, Valid: true}, sql.NullString{String: res.title, Valid: true}, res.file,
		sql.NullString{String: strconv.FormatInt(res.line.Int64, 10), Valid: res.line.Valid}, res.containingClass,
		res.containmentPath)
	r.report.resources = append(r.report.resources, res)
}

// path reads the containment path of a resource and sets it in res. The innermost element that is not a resource, and
// therefore contains no bracket, is the containing class.
func (r *reader) path(res *resource) {
	if r.null() {
		res.containmentPath, res.containingClass = sql.NullString{}, sql.NullString{}
		return
	}
	out := append(r.buffer[:0], '[')
	res.containingClass = sql.NullString{}
	for r.list(); r.element(); {
		element := r.bytes()
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = jsontext.AppendQuoted(out, element)
		if len(element) > 0 && bytes.IndexByte(element, '[') < 0 {
			res.containingClass = sql.NullString{String: string(element), Valid: true}
		}
	}
	r.buffer = append(out, ']')
	res.containmentPath = sql.NullString{String: string(r.buffer), Valid: true}
}

// event reads an event of the resource with the given index, and adds it to the report. It drops an event before
// r.oldest.
func (r *reader) event(index int) {
	e := event{resource: index}
	c := change{oldValue: jsonNull, newValue: jsonNull}
	var seen memberSet
	var name []byte
	for r.object(); r.member(&name); {
		switch {
		case r.eventMember(&e, &c, &seen, name):
		case string(name) == "corrective_change":
			e.corrective = r.nullBool()
		default:
			r.fail("an event has no member %q", rest.Quote(string(name)))
		}
	}
	if r.err == nil && seen != seenStatus|seenTimestamp {
		r.fail("an event lacks its status or timestamp")
	}
	if r.err == nil && e.timestamp >= r.oldest {
		e.change = r.addChange(c)
		r.report.events = append(r.report.events, e)
	}
}

// eventMember reads the value of a member of an event into e or c, if the member is one of those that all versions
// have. It also records a required member in seenMembers. For any other name, it reads nothing and returns false.
func (r *reader) eventMember(e *event, c *change, seenMembers *memberSet, name []byte) bool {
	switch string(name) {
	case "status":
		e.status = r.name("status")
		*seenMembers |= seenStatus
	case "timestamp":
		e.timestamp = r.instant()
		*seenMembers |= seenTimestamp
	case "property":
		c.property = r.nullText()
	case "name":
		c.name = r.nullText()
	case "old_value":
		c.oldValue = r.value()
	case "new_value":
		c.newValue = r.value()
	case "message":
		c.message = r.nullText()
	default:
		return false
	}
	return true
}

// resourceMember reads the value of a member that resources have in all versions into res, and adds a required member
// to seenMembers. For any other name, it reads nothing and returns false.
func (r *reader) resourceMember(res *resource, seenMembers *memberSet, name []byte) bool {
	switch string(name) {
	case "resource_type":
		res.kind = r.name("resource_type")
		*seenMembers |= seenType
	case "resource_title":
		res.title = r.string()
		*seenMembers |= seenTitle
	case "file":
		res.file = r.nullText()
	case "line":
		res.line = r.line()
	case "containment_path":
		r.path(res)
	default:
		return false
	}
	return true
}

// addChange adds a change to the report and returns its index.
func (r *reader) addChange(c change) int {
	c.digest = r.digest(c.property, c.name, c.oldValue, c.newValue, c.message)
	r.report.changes = append(r.report.changes, c)
	return len(r.report.changes) - 1
}

// changeOfSkipped returns the index of the empty change that the events of all skipped resources share. The first call
// adds the change to the report.
func (r *reader) changeOfSkipped() int {
	if r.skippedChange < 0 {
		r.skippedChange = r.addChange(change{})
	}
	return r.skippedChange
}

// resourceEvents reads the events of a report of version 5, in which each event contains its resource.
func (r *reader) resourceEvents() {
	for r.list(); r.element(); {
		r.resourceEvent()
	}
}

// resourceEvent reads an element of "resource_events", which describes an event together with its resource in older
// versions. It drops events before r.oldest.
func (r *reader) resourceEvent() {
	var (
		res        resource
		seen       memberSet
		firstEvent = len(r.report.events)
		e          = event{resource: len(r.report.resources)}
		c          = change{oldValue: jsonNull, newValue: jsonNull}
	)
	var name []byte
	for r.object(); r.member(&name); {
		if !r.eventMember(&e, &c, &seen, name) && !r.resourceMember(&res, &seen, name) {
			r.fail("an event has no member %q", rest.Quote(string(name)))
		}
	}
	if r.err == nil && seen != seenStatus|seenTimestamp|seenType|seenTitle {
		r.fail("an event lacks its status, timestamp, resource_type or resource_title")
	}
	if r.err != nil || e.timestamp < r.oldest {
		return
	}
	if e.status == "skipped" {
		e.change = r.changeOfSkipped()
	} else {
		e.change = r.addChange(c)
	}
	r.report.events = append(r.report.events, e)
	r.addResource(res, firstEvent)
}

// digest returns a hash of texts, which may be NULL. Different lists of texts are encoded differently before hashing.
func (r *reader) digest(texts ...sql.NullString) digest {
	b := r.buffer[:0]
	for _, t := range texts {
		if !t.Valid {
			b = append(b, 0)
			continue
		}
		b = append(binary.AppendUvarint(append(b, 1), uint64(len(t.String))), t.String...)
	}
	r.buffer = b
	sum := sha256.Sum256(b)
	return digest(sum[:16])
}
