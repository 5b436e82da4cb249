// Package strictjson writes JSON in one canonical form and reads no other, so that a digest of the bytes is a
// digest of the value: two blanks of indentation, members in the order of the struct, no needless escapes, a final
// newline.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Marshal returns the canonical form of v, whose slices and maps must not be nil.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Unmarshal reads data into the struct that v points to. It refuses unknown and repeated members and whatever
// else is not the canonical form.
func Unmarshal(data []byte, v any) error {
	if err := Decode(data, v); err != nil {
		return err
	}
	again, err := Marshal(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("not in canonical form: differs at byte %d", firstDifference(again, data))
	}
	return nil
}

// Decode reads one JSON value and nothing after it. It refuses unknown members but not another form.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("empty file")
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the value at byte %d", d.InputOffset())
	}
	return nil
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
