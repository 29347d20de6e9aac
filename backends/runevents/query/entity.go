package query

import (
	"maps"
	"slices"
)

// Only this file, and the files that compile counts and details (counts.go, expanded.go), contain names of tables and
// columns of the database.

// fieldType is the type of a field. It determines the operators that can be used with the field.
type fieldType int

const (
	typeText     fieldType = iota
	typeHash               // SHA-1 as lower-case hexadecimal, 20 bytes in the table
	typeTime               // Unix milliseconds
	typeNumber             // integer
	typeBool               // 0 or 1
	typePath               // JSON array of texts
	typeJSON               // any JSON value, as canonical text
	typeLatest             // latest_report?, which is a relation instead of a column
	typeExpanded           // a list that is returned as a whole
	typeAbsent             // of an entity that is never stored; supports everything
)

// field is a field of an entity.
type field struct {
	name     string
	kind     fieldType
	nullable bool
	// alias and column identify the column with the value: the alias of the base table or of a joined one, and a column
	// of that table. If dictionary is not empty, the column contains the ID of a text in the table dictionary instead.
	alias, column string
	dictionary    string
	// alwaysNull means that the field is always null, because the service does not store it or does not show it.
	alwaysNull bool
}

// queryable reports whether clauses can have conditions on the field, and extractable whether answers can contain it.
func (f *field) queryable() bool   { return f.kind != typeExpanded }
func (f *field) extractable() bool { return f.kind != typeLatest }

// join is a table that is joined to the base table of an entity.
type join struct {
	alias, table string
	// keyAlias and key identify the column with the ID of the joined row: the alias of a table and a column of it.
	keyAlias, key string
	outer         bool // left join: there may be no joined row
	large         bool // the table has so many rows that conditions should be tested on those of the result only
	reused        bool // all runs refer to the same rows, so the latest runs alone refer to many of them
}

// relation is a pair of fields, one of each entity, that are equal in related rows of the two entities.
type relation struct{ local, foreign string }

// entity is a kind of row that can be queried, such as events or nodes.
type entity struct {
	name         string
	alias, table string   // of the base table; table is empty if the entity is never stored
	order        []string // columns of the base table that make the order of rows total
	joins        []join
	fields       []*field
	byName       map[string]*field
	relations    map[string]relation // by the name of the other entity
	node         string              // column of the base table with the node's ID, or empty
}

// join returns the joined table with the given alias, or nil for the base table.
func (e *entity) join(alias string) *join {
	for i := range e.joins {
		if e.joins[i].alias == alias {
			return &e.joins[i]
		}
	}
	return nil
}

// absent reports whether the entity is never stored.
func (e *entity) absent() bool { return e.table == "" }

// field returns the field with the given name, or nil if there is no such field. Queries for an entity that this
// service never stores, such as facts, have no results and may use any name, so for such an entity field returns a
// field that is always null.
func (e *entity) field(name string) *field {
	if e.absent() {
		return &field{name: name, kind: typeAbsent, nullable: true, alwaysNull: true}
	}
	return e.byName[name]
}

// names returns the names of the fields that filter accepts, in alphabetical order.
func (e *entity) names(filter func(*field) bool) []string {
	var names []string
	for _, f := range e.fields {
		if filter(f) {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

// The dictionaries: tables that contain each text once.
const (
	wordTable        = "run_words"
	environmentTable = "run_environments"
	producerTable    = "run_producers"
)

// The IDs of the first rows in the table of words.
const (
	wordSuccess = "1"
	wordFailure = "2"
	wordNoop    = "3"
	wordSkipped = "4"
)

// entities returns all entities by name. If corrective is false, corrective changes are always null.
func entities(corrective bool) map[string]*entity {
	all := make(map[string]*entity)
	for _, e := range []*entity{
		events(corrective), reports(corrective), nodes(corrective), environmentsEntity(),
		producersEntity(),
	} {
		all[e.name] = e
	}
	for _, name := range []string{
		"catalogs", "facts", "factsets", "fact_contents", "fact_paths", "inventory", "resources",
		"edges", "package_inventory", "packages",
	} {
		all[name] = absentEntity(name)
	}
	for _, e := range all {
		e.byName = make(map[string]*field, len(e.fields))
		for _, f := range e.fields {
			e.byName[f.name] = f
		}
	}
	return all
}

// byCertname returns relations, by the names of the related entities. These are the relations in extras and, for each
// other entity that has a certname, a relation between rows with the same certname.
func byCertname(extras map[string]relation) map[string]relation {
	all := make(map[string]relation)
	for _, name := range []string{
		"events", "reports", "nodes", "catalogs", "facts", "factsets", "fact_contents",
		"inventory", "resources", "edges", "package_inventory",
	} {
		all[name] = relation{"certname", "certname"}
	}
	maps.Copy(all, extras)
	return all
}

// events returns the entity for events. If corrective is false, corrective_change is always null.
func events(corrective bool) *entity {
	return &entity{
		name: "events", alias: "e", table: "run_events", node: "node",
		order: []string{"at", "report", "seq"},
		joins: []join{
			{alias: "r", table: "run_reports", keyAlias: "e", key: "report", large: true},
			{alias: "n", table: "run_nodes", keyAlias: "e", key: "node"},
			{alias: "s", table: "run_resources", keyAlias: "e", key: "resource", large: true, reused: true},
			{alias: "c", table: "run_changes", keyAlias: "e", key: "change", large: true},
		},
		fields: []*field{
			{name: "certname", alias: "n", column: "certname"},
			{name: "report", kind: typeHash, alias: "r", column: "hash"},
			{name: "status", alias: "e", column: "status", dictionary: wordTable},
			{name: "timestamp", kind: typeTime, alias: "e", column: "at"},
			{name: "run_start_time", kind: typeTime, alias: "r", column: "start_time"},
			{name: "run_end_time", kind: typeTime, alias: "r", column: "end_time"},
			{name: "report_receive_time", kind: typeTime, alias: "r", column: "receive_time"},
			{name: "resource_type", alias: "s", column: "type"},
			{name: "resource_title", alias: "s", column: "title"},
			{name: "property", nullable: true, alias: "c", column: "property"},
			{name: "name", nullable: true, alias: "c", column: "name"},
			{name: "new_value", kind: typeJSON, nullable: true, alias: "c", column: "new_value"},
			{name: "old_value", kind: typeJSON, nullable: true, alias: "c", column: "old_value"},
			{name: "message", nullable: true, alias: "c", column: "message"},
			{name: "file", nullable: true, alias: "s", column: "file"},
			{name: "line", kind: typeNumber, nullable: true, alias: "s", column: "line"},
			{name: "containing_class", nullable: true, alias: "s", column: "containing_class"},
			{name: "environment", alias: "r", column: "environment", dictionary: environmentTable},
			{name: "configuration_version", alias: "r", column: "configuration_version"},
			{name: "containment_path", kind: typePath, nullable: true, alias: "s", column: "containment_path"},
			{
				name: "corrective_change", kind: typeBool, nullable: true, alias: "e", column: "corrective_change",
				alwaysNull: !corrective,
			},
			{name: "latest_report?", kind: typeLatest, alias: "e", column: "report"},
		},
		relations: byCertname(map[string]relation{
			"reports":      {"report", "hash"},
			"environments": {"environment", "name"},
		}),
	}
}

// reports returns the entity for reports; corrective is as in events.
func reports(corrective bool) *entity {
	return &entity{
		name: "reports", alias: "r", table: "run_reports", node: "node",
		order: []string{"id"},
		joins: []join{
			{alias: "n", table: "run_nodes", keyAlias: "r", key: "node"},
		},
		fields: []*field{
			{name: "hash", kind: typeHash, alias: "r", column: "hash"},
			{name: "certname", alias: "n", column: "certname"},
			{name: "environment", alias: "r", column: "environment", dictionary: environmentTable},
			{name: "status", nullable: true, alias: "r", column: "status", dictionary: wordTable},
			{name: "noop", kind: typeBool, nullable: true, alias: "r", column: "noop"},
			{name: "noop_pending", kind: typeBool, nullable: true, alias: "r", column: "noop_pending"},
			{
				name: "corrective_change", kind: typeBool, nullable: true, alias: "r", column: "corrective_change",
				alwaysNull: !corrective,
			},
			{name: "type", alias: "r", column: "type", dictionary: wordTable},
			{name: "puppet_version", alias: "r", column: "puppet_version", dictionary: wordTable},
			{name: "report_format", kind: typeNumber, alias: "r", column: "report_format"},
			{name: "configuration_version", alias: "r", column: "configuration_version"},
			{name: "start_time", kind: typeTime, alias: "r", column: "start_time"},
			{name: "end_time", kind: typeTime, alias: "r", column: "end_time"},
			{name: "producer_timestamp", kind: typeTime, alias: "r", column: "producer_timestamp"},
			{name: "receive_time", kind: typeTime, alias: "r", column: "receive_time"},
			{name: "producer", nullable: true, alias: "r", column: "producer", dictionary: producerTable},
			{name: "transaction_uuid", nullable: true, alias: "r", column: "transaction_uuid"},
			{name: "catalog_uuid", nullable: true, alias: "r", column: "catalog_uuid"},
			{name: "code_id", nullable: true, alias: "r", column: "code_id", dictionary: wordTable},
			{name: "job_id", nullable: true, alias: "r", column: "job_id"},
			{name: "cached_catalog_status", nullable: true, alias: "r", column: "cached_catalog_status", dictionary: wordTable},
			{name: "resource_events", kind: typeExpanded, alias: "r", column: "events"},
			{name: "logs", kind: typeExpanded, alias: "r", column: "logs"},
			{name: "metrics", kind: typeExpanded, alias: "r", column: "metrics"},
			{name: "latest_report?", kind: typeLatest, alias: "r", column: "id"},
		},
		relations: byCertname(map[string]relation{
			"events":       {"hash", "report"},
			"environments": {"environment", "name"},
			"producers":    {"producer", "name"},
		}),
	}
}

// nodes returns the entity for nodes; corrective is as in events.
func nodes(corrective bool) *entity {
	return &entity{
		name: "nodes", alias: "n", table: "run_nodes", node: "id",
		order: []string{"id"},
		joins: []join{
			{alias: "r", table: "run_reports", keyAlias: "n", key: "latest_report", outer: true},
		},
		fields: []*field{
			{name: "certname", alias: "n", column: "certname"},
			{name: "deactivated", kind: typeTime, nullable: true, alias: "n", column: "deactivated_at"},
			{name: "expired", kind: typeTime, nullable: true, alias: "n", column: "expired_at"},
			{name: "report_timestamp", kind: typeTime, nullable: true, alias: "r", column: "end_time"},
			{name: "report_environment", nullable: true, alias: "r", column: "environment", dictionary: environmentTable},
			{name: "latest_report_hash", kind: typeHash, nullable: true, alias: "r", column: "hash"},
			{name: "latest_report_status", nullable: true, alias: "r", column: "status", dictionary: wordTable},
			{name: "latest_report_noop", kind: typeBool, nullable: true, alias: "r", column: "noop"},
			{name: "latest_report_noop_pending", kind: typeBool, nullable: true, alias: "r", column: "noop_pending"},
			{name: "cached_catalog_status", nullable: true, alias: "r", column: "cached_catalog_status", dictionary: wordTable},
			{name: "latest_report_job_id", nullable: true, alias: "r", column: "job_id"},
			{
				name: "latest_report_corrective_change", kind: typeBool, nullable: true, alias: "r", column: "corrective_change",
				alwaysNull: !corrective,
			},
			// The times of catalogs and facts are null, because catalogs and facts are never stored.
			{name: "catalog_timestamp", kind: typeTime, nullable: true, alias: "n", column: "id", alwaysNull: true},
			{name: "catalog_environment", nullable: true, alias: "n", column: "id", alwaysNull: true},
			{name: "facts_timestamp", kind: typeTime, nullable: true, alias: "n", column: "id", alwaysNull: true},
			{name: "facts_environment", nullable: true, alias: "n", column: "id", alwaysNull: true},
		},
		relations: byCertname(map[string]relation{
			"environments": {"report_environment", "name"},
		}),
	}
}

// environmentsEntity returns the entity for environments.
func environmentsEntity() *entity {
	return &entity{
		name: "environments", alias: "v", table: environmentTable,
		order:  []string{"id"},
		fields: []*field{{name: "name", alias: "v", column: "name"}},
		relations: map[string]relation{
			"events":  {"name", "environment"},
			"reports": {"name", "environment"},
			"nodes":   {"name", "report_environment"},
		},
	}
}

// producersEntity returns the entity for producers: servers that have submitted reports.
func producersEntity() *entity {
	return &entity{
		name: "producers", alias: "p", table: producerTable,
		order:     []string{"id"},
		fields:    []*field{{name: "name", alias: "p", column: "name"}},
		relations: map[string]relation{"reports": {"name", "producer"}},
	}
}

// absentEntity returns an entity of the query language that is never stored.
func absentEntity(name string) *entity {
	return &entity{name: name, relations: byCertname(nil)}
}
