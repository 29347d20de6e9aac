package moving

import (
	"encoding/json"
	"fmt"
	"io"
)

// recordMost bounds the size of an entry of a file, in bytes.
const recordMost = 1 << 20

// elements calls each with the elements of an array, whose opening bracket comes next.
func elements(d *json.Decoder, each func(i int, raw json.RawMessage) error) error {
	if err := delimiter(d, '['); err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		if len(raw) > recordMost {
			return fmt.Errorf("entry %d has more than %d bytes", i, recordMost)
		}
		if err := each(i, raw); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("at byte %d there is no %v", d.InputOffset(), want)
	}
	return err
}

// members reads the arrays of an object that are in arrays, by their names, and skips all other members.
func members(file io.Reader, arrays map[string]func(i int, raw json.RawMessage) error) error {
	d := json.NewDecoder(file)
	if err := delimiter(d, '{'); err != nil {
		return fmt.Errorf("this is no JSON object: %w", err)
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if each := arrays[name]; each != nil {
			err = elements(d, each)
		} else {
			err = skip(d)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return delimiter(d, '}')
}

// skip skips the next value without storing it.
func skip(d *json.Decoder) error {
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
