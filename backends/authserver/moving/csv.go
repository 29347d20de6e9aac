package moving

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// csvAttribute is the prefix of a column with an attribute. The name of the attribute follows.
const csvAttribute = "attributes."

// csvColumns are the permitted columns of a file of users, in any order, besides the attribute columns. The column
// email is required.
var csvColumns = []string{
	"email", "id", "name", "email_verified", "password_hash", "groups", "roles", "totp", "disabled",
}

// CSV implements Reader for users as comma-separated values (RFC 4180). The first line names the columns. The column
// email is required; the others are optional:
//   - id: the sub of tokens
//   - name
//   - email_verified and disabled: true or false
//   - password_hash: see password.Known
//   - groups and roles: separated by semicolons
//   - totp: the secret of an authenticator app in base32
//   - attributes.NAME: the values of the attribute called NAME, separated by semicolons
func CSV(file io.Reader, fn func(Record) error) error {
	limited := &io.LimitedReader{R: file}
	r := csv.NewReader(limited)
	r.ReuseRecord = true
	read := func() ([]string, error) {
		limited.N = maxRecord
		cells, err := r.Read()
		if limited.N == 0 { // the line was truncated, which looks like the end of the file
			err = fmt.Errorf("a line has more than %d bytes; perhaps a closing quotation mark is missing", maxRecord)
		}
		return cells, err
	}
	header, err := read()
	if err != nil {
		return fmt.Errorf("reading the first line, which names the columns: %w", err)
	}
	names := slices.Clone(header)
	for i, name := range names {
		names[i] = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if !slices.Contains(csvColumns, names[i]) && !strings.HasPrefix(names[i], csvAttribute) {
			return fmt.Errorf("the column %q is unknown; permitted columns: %s, and attributes.<name of an attribute>",
				names[i], strings.Join(csvColumns, ", "))
		}
	}
	if !slices.Contains(names, "email") {
		return errors.New("the column email is missing")
	}
	for line := 1; ; {
		cells, err := read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after line %d: %w", line, err)
		}
		line, _ = r.FieldPos(0)
		row := make(map[string]string, len(names))
		for i, name := range names {
			row[name] = strings.TrimSpace(cells[i])
		}
		record := csvRecord(line, row)
		if record.User != nil {
			record.User.Fields = names
		}
		if err := fn(record); err != nil {
			return err
		}
	}
}

// csvRecord returns the record for a line of the file. The map row contains the cells of the line; its keys are the
// names of the columns.
func csvRecord(line int, row map[string]string) Record {
	r := Record{Where: fmt.Sprintf("line %d %s", line, row["email"])}
	for _, name := range []string{"email_verified", "disabled"} {
		if value := row[name]; value != "" && value != "true" && value != "false" {
			r.Refused = name + " must be true or false"
			return r
		}
	}
	u := new(User)
	u.New = users.New{
		Disabled: row["disabled"] == "true", ID: row["id"], Email: row["email"], Name: row["name"],
		EmailVerified: row["email_verified"] == "true", Hash: row["password_hash"],
	}
	u.Groups, u.Given.Roles = splitCell(row["groups"]), splitCell(row["roles"])
	for column, cell := range row {
		name, ok := strings.CutPrefix(column, csvAttribute)
		if values := splitCell(cell); ok && len(values) > 0 {
			if u.Given.Attributes == nil {
				u.Given.Attributes = make(map[string][]string)
			}
			u.Given.Attributes[name] = values
		}
	}
	if secret := row["totp"]; secret != "" {
		u.Apps = []string{secret}
	}
	r.User = u
	return r
}

// splitCell returns the values of a cell. Semicolons separate them.
func splitCell(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return r == ';' })
}
