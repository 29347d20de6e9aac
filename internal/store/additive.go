package store

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

// isAdditive reports whether a migration is marked as additive, so that older programs can still use the database after
// it. It returns an error for a marked migration with a statement that could disturb older programs. Allowed statements
// make tables, add columns that older programs need not know, or fill these tables and columns.
func isAdditive(text string) (bool, error) {
	if !additiveLine.MatchString(text) {
		return false, nil
	}
	var made additions
	for _, statement := range statements(text) {
		if !made.allows(statement) {
			const shown = 80
			return false, fmt.Errorf("is marked additive, but programs of the last release cannot go on after %.*q: "+
				"take the mark away, or leave this to a later release", shown, statement)
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
		return a.refers(statement)
	}
	if match := createsIndex.FindStringSubmatch(statement); match != nil {
		return match[1] == "" || a.made(match[2])
	}
	if match := altersTable.FindStringSubmatch(statement); match != nil {
		return a.made(match[1]) || a.addsColumns(match[1], match[2])
	}
	if match := writesTable.FindStringSubmatch(statement); match != nil && a.made(match[1]) {
		return true
	}
	match := fillsColumns.FindStringSubmatch(outside(statement))
	return match != nil && !slices.ContainsFunc(parts(match[2]), func(assignment string) bool {
		column, _, _ := strings.Cut(assignment, "=")
		return !slices.Contains(a.columns, strings.ToLower(match[1]+"."+strings.TrimSpace(column)))
	})
}

// made reports whether the migration has made a table.
func (a *additions) made(table string) bool { return slices.Contains(a.tables, strings.ToLower(table)) }

// refers reports whether every foreign key in a definition lets older programs delete the rows that it references: it
// has an ON DELETE action, or references a table of this migration.
func (a *additions) refers(definition string) bool {
	return !slices.ContainsFunc(refersTo.FindAllStringSubmatch(definition, -1), func(match []string) bool {
		return match[2] == "" && !a.made(match[1])
	})
}

// addsColumns reports whether the actions of ALTER TABLE only add columns that older programs need not write.
func (a *additions) addsColumns(table, actions string) bool {
	for _, action := range parts(actions) {
		match := addsColumn.FindStringSubmatch(action)
		if match == nil || addsOther.MatchString(action) || isUnique.MatchString(match[2]) || !a.refers(match[2]) ||
			notNull.MatchString(match[2]) && !hasDefault.MatchString(match[2]) {
			return false
		}
		a.columns = append(a.columns, strings.ToLower(table+"."+match[1]))
	}
	return true
}

// statements returns the statements of a migration, with one space between words and without comments. Semicolons in
// string literals and in procedural code divide statements too, so a migration with such semicolons is not additive.
func statements(text string) []string {
	text, _, _ = strings.Cut(text, "-- +goose Down")
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if before, _, found := strings.Cut(line, "--"); found && strings.Count(before, "'")%2 == 0 {
			line = before
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

// outside returns the parts of a statement that are not in parentheses.
func outside(statement string) string {
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

// parts divides a list at the commas that are not in parentheses.
func parts(list string) []string {
	var found []string
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			found = append(found, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(found, strings.TrimSpace(list[start:]))
}
