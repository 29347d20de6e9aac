package moving

import (
	"encoding/json"
	"fmt"
	"io"
)

// maxRecord is the maximum size of an entry in a file, in bytes.
const maxRecord = 1 << 20

// readArray calls fn with the index and the JSON text of every element of an array. The opening bracket of the array
// must be the next token.
func readArray(d *json.Decoder, fn func(i int, raw json.RawMessage) error) error {
	if err := expectDelimiter(d, '['); err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if len(raw) > maxRecord {
			return fmt.Errorf("entry %d has more than %d bytes", i, maxRecord)
		}
		if err := fn(i, raw); err != nil {
			return err
		}
	}
	return expectDelimiter(d, ']')
}

// expectDelimiter reads the next token, and returns an error if it is not the given bracket or brace.
func expectDelimiter(d *json.Decoder, delim json.Delim) error {
	token, err := d.Token()
	if err == nil && token != delim {
		err = fmt.Errorf("expected %v before byte %d", delim, d.InputOffset())
	}
	return err
}

// readTopLevel reads a JSON object from file. For a member whose name is a key of readers, it calls the function under
// that key, which must read the value. It skips all other members.
func readTopLevel(file io.Reader, readers map[string]func(d *json.Decoder) error) error {
	d := json.NewDecoder(file)
	if err := expectDelimiter(d, '{'); err != nil {
		return fmt.Errorf("the file is not a JSON object: %w", err)
	}
	return readMembers(d, func(name string) error {
		if read := readers[name]; read != nil {
			return read(d)
		}
		return skipValue(d)
	})
}

// readObject calls fn with the name of every member of an object. The function must read the value of the member. The
// next token must be the opening brace of the object.
func readObject(d *json.Decoder, fn func(name string) error) error {
	if err := expectDelimiter(d, '{'); err != nil {
		return err
	}
	return readMembers(d, fn)
}

// readMembers is like readObject, for an object whose opening brace has already been read.
func readMembers(d *json.Decoder, fn func(name string) error) error {
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if err := fn(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return expectDelimiter(d, '}')
}

// skipValue reads the next value without storing it.
func skipValue(d *json.Decoder) error {
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
