package query

import (
	"context"
	"database/sql"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Dashboards request the number of nodes and resources as attributes of managed beans, in the format of Jolokia
// (https://jolokia.org/reference/html/manual/jolokia_protocol.html). Of the many beans of the reference implementation,
// only those exist that dashboards show.

// populationDomain is the part before the colon in the names of the beans.
const populationDomain = "puppetlabs.puppetdb.population"

// populationBeans lists the parts after the colon in the names of the beans, in alphabetical order.
var populationBeans = []struct{ name, description string }{
	{"name=avg-resources-per-node", "Resources by nodes."},
	{"name=num-nodes", "Active nodes."},
	{"name=num-resources", "Resources that the latest reports of active nodes count."},
}

// beans answers with the list of beans if pl.detail is "mbeans", and otherwise with the value of the bean or attribute
// in pl.scope.Bean. As in Jolokia, the status 404 of an unknown bean is in the body; the status of the response is 200.
func (s *Service) beans(ctx context.Context, tx *sql.Tx, pl *plan, out *output) error {
	var b []byte
	status := 200
	if pl.detail == "mbeans" {
		b = append(b, `{"request":{"type":"list"},"value":{"`+populationDomain+`":{`...)
		for i, bean := range populationBeans {
			if i > 0 {
				b = append(b, ',')
			}
			b = jsontext.AppendQuoted(append(jsontext.AppendQuoted(b, bean.name),
				`:{"attr":{"Value":{"rw":false,"type":"java.lang.Object","desc":`...), bean.description)
			b = append(b, "}}}"...)
		}
		b = append(b, "}}"...)
	} else {
		name, attribute, _ := strings.Cut(pl.scope.Bean, "/")
		b = jsontext.AppendQuoted(append(b, `{"request":{"type":"read","mbean":`...), name)
		if attribute != "" {
			b = jsontext.AppendQuoted(append(b, `,"attribute":`...), attribute)
		}
		b = append(b, '}')
		value, known, err := s.bean(ctx, tx, name)
		switch {
		case err != nil:
			return err
		case !known:
			status = 404
			b = append(b, `,"error_type":"javax.management.InstanceNotFoundException","error":"there is no such bean"`...)
		case attribute == "":
			b = append(append(append(b, `,"value":{"Value":`...), value...), '}')
		case attribute == "Value":
			b = append(append(b, `,"value":`...), value...)
		default:
			status = 404
			b = append(b, `,"error_type":"javax.management.AttributeNotFoundException","error":"the bean has no such attribute"`...)
		}
	}
	b = strconv.AppendInt(append(b, `,"timestamp":`...), s.o.Now().Unix(), 10)
	b = append(strconv.AppendInt(append(b, `,"status":`...), int64(status), 10), '}')
	_, err := out.Write(b)
	return err
}

// bean returns the value of the bean with the given full name as JSON. known is false if there is no such bean.
func (s *Service) bean(ctx context.Context, tx *sql.Tx, name string) (value string, known bool, err error) {
	shortName, ok := strings.CutPrefix(name, populationDomain+":")
	if !ok {
		return "", false, nil
	}
	switch shortName {
	case "name=num-nodes":
		n, err := activeNodes(ctx, tx)
		return strconv.FormatInt(n, 10), true, err
	case "name=num-resources":
		n, err := activeResources(ctx, tx)
		return strconv.FormatInt(n, 10), true, err
	case "name=avg-resources-per-node":
		nodes, err := activeNodes(ctx, tx)
		if err != nil {
			return "", true, err
		}
		resources, err := activeResources(ctx, tx)
		return strconv.FormatFloat(float64(resources)/float64(max(nodes, 1)), 'f', -1, 64), true, err
	}
	return "", false, nil
}

// isActive is the SQL condition that the node n is neither deactivated nor expired.
const isActive = "n.deactivated_at IS NULL AND n.expired_at IS NULL"

// activeNodes returns the number of active nodes.
func activeNodes(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM run_nodes n WHERE "+isActive).Scan(&n)
	return n, err
}

// activeResources returns the number of resources on all active nodes. Since catalogs are not stored, it adds up the
// numbers in the metrics of each node's latest report.
func activeResources(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT d.metrics FROM run_nodes n JOIN run_reports r ON r.id = n.latest_report "+
		"JOIN run_report_details d ON d.at = r.producer_timestamp AND d.report = r.id WHERE "+isActive)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var compressed sql.RawBytes
	var metrics []byte
	for rows.Next() {
		if err := rows.Scan(&compressed); err != nil {
			return 0, err
		}
		if metrics, err = packed.Append(metrics[:0], compressed, maxDetail); err != nil {
			return 0, err
		}
		n += totalResources(metrics)
	}
	return n, rows.Err()
}

// totalResources returns the total number of resources according to the metrics of a report, a JSON array. It returns 0
// if the metrics do not contain the number.
func totalResources(metrics []byte) (n int64) {
	gjson.ParseBytes(metrics).ForEach(func(_, m gjson.Result) bool {
		if m.Get("category").Str != "resources" || m.Get("name").Str != "total" {
			return true
		}
		if v := m.Get("value").Num; v > 0 && v <= math.MaxInt32 {
			n = int64(v)
		}
		return false
	})
	return n
}
