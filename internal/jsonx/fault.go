package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Fault finds what is wrong with a file that a person has written: it must be one
// JSON value, in UTF-8, and no object may have a name twice. It returns the byte of
// the fault and an error that describes it, or nil.
func Fault(data []byte) (at int, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	_, err = dec.ReadValue()
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err == nil {
			return int(dec.InputOffset()), errors.New("something follows the end of the JSON value")
		}
	}
	wrong, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return len(data), errors.New("the JSON value is not complete")
	case !ok:
		return 0, err
	case wrong.Err == jsontext.ErrDuplicateName:
		return int(wrong.ByteOffset), fmt.Errorf("the name %q occurs twice in an object", wrong.JSONPointer.LastToken())
	}
	return int(wrong.ByteOffset), wrong.Err
}
