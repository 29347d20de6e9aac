package migration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// additiveLine matches the line that marks a migration as additive: older programs can still use the database after it.
var additiveLine = regexp.MustCompile(`(?m)^-- additive$`)

// These patterns match statements and clauses of additive migrations, normalized by the function statements.
var (
	createsTable = regexp.MustCompile(`(?i)^CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)`)
	createsIndex = regexp.MustCompile(`(?i)^CREATE (UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+ ON (?:ONLY )?(\w+)`)
	altersTable  = regexp.MustCompile(`(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\w+) (.*)$`)
	addsColumn   = regexp.MustCompile(`(?i)^ADD (?:COLUMN )?(?:IF NOT EXISTS )?(\w+) (.*)$`)
	addsOther    = regexp.MustCompile(`(?i)^ADD (?:CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b`)
	writesTable  = regexp.MustCompile(`(?i)^(?:INSERT INTO|DELETE FROM|UPDATE) (\w+)`)
	fillsColumns = regexp.MustCompile(`(?i)^UPDATE (\w+) SET (.*?)(?: FROM .*| WHERE .*)?$`)
	refersTo     = regexp.MustCompile(`(?i)\bREFERENCES (\w+)(?: ?\([^)]*\))?(?: ON DELETE (CASCADE|SET NULL))?`)
	notNull      = regexp.MustCompile(`(?i)\bNOT NULL\b`)
	hasDefault   = regexp.MustCompile(`(?i)\bDEFAULT\b`)
	isUnique     = regexp.MustCompile(`(?i)\b(?:UNIQUE|PRIMARY KEY)\b`)
)

// IsAdditive reports whether a migration is marked as additive, so that older programs can still use the database after
// it. It returns an error for a marked migration with a statement that could disturb older programs. Allowed statements
// make tables, add columns that older programs need not know, or fill these tables and columns.
func IsAdditive(text string) (bool, error) {
	if !additiveLine.MatchString(text) {
		return false, nil
	}
	var added additions
	for _, statement := range statements(text) {
		if !added.allows(statement) {
			const shown = 80
			return false, fmt.Errorf("is marked additive, but programs of the previous release cannot use the database after "+
				"%.*q: remove the mark, or leave this change to a later release", shown, statement)
		}
	}
	return true, nil
}

// additions are the tables and columns that a migration has made so far.
type additions struct {
	tables  []string
	columns []string // table.column
}

// allows reports whether older programs can still use the database after a statement. It records the tables and columns
// that the statement adds.
func (a *additions) allows(statement string) bool {
	if match := createsTable.FindStringSubmatch(statement); match != nil {
		a.tables = append(a.tables, strings.ToLower(match[1]))
		return a.allowsReferences(statement)
	}
	if match := createsIndex.FindStringSubmatch(statement); match != nil {
		unique, table := match[1] != "", match[2]
		return !unique || a.madeTable(table) // a unique index on another table could refuse rows of older programs
	}
	if match := altersTable.FindStringSubmatch(statement); match != nil {
		return a.madeTable(match[1]) || a.addsColumns(match[1], match[2])
	}
	if match := writesTable.FindStringSubmatch(statement); match != nil && a.madeTable(match[1]) {
		return true
	}
	match := fillsColumns.FindStringSubmatch(withoutParentheses(statement))
	if match == nil {
		return false
	}
	table, assignments := match[1], match[2]
	for _, assignment := range splitAtCommas(assignments) {
		column, _, _ := strings.Cut(assignment, "=")
		if !slices.Contains(a.columns, strings.ToLower(table+"."+strings.TrimSpace(column))) {
			return false
		}
	}
	return true
}

// madeTable reports whether the migration has made a table.
func (a *additions) madeTable(table string) bool {
	return slices.Contains(a.tables, strings.ToLower(table))
}

// allowsReferences reports whether every foreign key in a definition lets older programs delete the rows that it
// references: it has an ON DELETE action, or references a table of this migration.
func (a *additions) allowsReferences(definition string) bool {
	for _, match := range refersTo.FindAllStringSubmatch(definition, -1) {
		table, onDelete := match[1], match[2]
		if onDelete == "" && !a.madeTable(table) {
			return false
		}
	}
	return true
}

// addsColumns reports whether the actions of ALTER TABLE only add columns that older programs need not write. It
// records these columns.
func (a *additions) addsColumns(table, actions string) bool {
	for _, action := range splitAtCommas(actions) {
		match := addsColumn.FindStringSubmatch(action)
		if match == nil || addsOther.MatchString(action) {
			return false
		}
		column, definition := match[1], match[2]
		if isUnique.MatchString(definition) || !a.allowsReferences(definition) ||
			notNull.MatchString(definition) && !hasDefault.MatchString(definition) {
			return false
		}
		a.columns = append(a.columns, strings.ToLower(table+"."+column))
	}
	return true
}

// statements returns the statements of a migration, with one space between words and without comments. Semicolons in
// string literals and in procedural code divide statements too, so a migration with such semicolons is not additive.
func statements(text string) []string {
	text, _, _ = strings.Cut(text, "-- +goose Down")
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if code, _, found := strings.Cut(line, "--"); found && strings.Count(code, "'")%2 == 0 {
			line = code
		}
		plain.WriteString(line + " ")
	}
	var list []string
	for statement := range strings.SplitSeq(plain.String(), ";") {
		if words := strings.Join(strings.Fields(statement), " "); words != "" {
			list = append(list, words)
		}
	}
	return list
}

// withoutParentheses removes the parentheses of a statement and everything in them.
func withoutParentheses(statement string) string {
	depth := 0
	return strings.Map(func(c rune) rune {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0:
			return c
		}
		return -1
	}, statement)
}

// splitAtCommas divides a list at the commas that are not in parentheses.
func splitAtCommas(list string) []string {
	var elements []string
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			elements = append(elements, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(elements, strings.TrimSpace(list[start:]))
}
