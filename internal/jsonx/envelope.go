package jsonx

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// envelope holds the names that decide what a frame is.
var envelope = [...]string{"type", "subtype", "request_id", "request", "response"}

// Envelope watches over the names of a frame. Those that decide what it is may
// occur once, in their own spelling only: a frame that two readers could take
// for two things is refused. The zero value has seen none.
type Envelope struct{ seen uint8 }

// Note takes the next name of the frame.
func (e *Envelope) Note(name []byte) error { return Once(name, envelope[:], &e.seen) }

// CheckEnvelope refuses a line whose envelope could be read in two ways, or
// that is no object.
func CheckEnvelope(line []byte) error { return checkNames(line, envelope[:]) }

// CheckSubtype refuses the body of a request whose subtype could be read in two
// ways, or that is no object.
func CheckSubtype(body []byte) error { return checkNames(body, subtype[:]) }

var subtype = [...]string{"subtype"}

// Subtype watches over the names of a request's body, as Envelope does over
// those of a frame.
type Subtype struct{ seen uint8 }

// Note takes the next name of the body.
func (t *Subtype) Note(name []byte) error { return Once(name, subtype[:], &t.seen) }

func checkNames(object []byte, names []string) error {
	var seen uint8
	m, err := Walk(object)
	for err == nil {
		var name []byte
		if name, _, err = m.Next(); name == nil {
			break
		}
		err = Once(name, names, &seen)
	}
	return err
}

// Once refuses a name that was seen before, or that differs from one of names
// in case only. The long s and the Kelvin sign count as cases of s and k: there
// are readers that take them so.
func Once(name []byte, names []string, seen *uint8) error {
	if len(name) == 0 {
		return nil
	}
	for i, want := range names {
		if name[0]|0x20 != want[0] && name[0] < utf8.RuneSelf {
			continue
		}
		if string(name) == want {
			if *seen&(1<<i) != 0 {
				return fmt.Errorf("member %q occurs twice", want)
			}
			*seen |= 1 << i
		} else if bytes.EqualFold(name, []byte(want)) {
			return fmt.Errorf("member %q is a case variant of %q", name, want)
		}
	}
	return nil
}
