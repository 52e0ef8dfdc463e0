package jsonx

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Names that decide what a frame, or the body of a request, is.
var (
	envelopeNames = []string{"type", "subtype", "request_id", "request", "response"}
	bodyNames     = []string{"subtype"}
)

// NameCheck watches over the names of an object. Some of them may occur once, in
// their own spelling only: an object that two readers could take for two things
// is refused.
type NameCheck struct {
	names []string
	seen  uint8
}

// CheckNames returns a NameCheck for up to eight names in lower case. It keeps
// the list.
func CheckNames(names []string) NameCheck { return NameCheck{names: names} }

// EnvelopeNames returns the NameCheck of a frame.
func EnvelopeNames() NameCheck { return CheckNames(envelopeNames) }

// BodyNames returns the NameCheck of a request's body.
func BodyNames() NameCheck { return CheckNames(bodyNames) }

// Add takes the next name of the object. It refuses one of the names that was
// seen before, and what differs from one in case only. The long s and the Kelvin
// sign count as cases of s and k: there are readers that take them so.
func (s *NameCheck) Add(name []byte) error {
	if len(name) == 0 {
		return nil
	}
	for i, want := range s.names {
		if name[0]|0x20 != want[0] && name[0] < utf8.RuneSelf {
			continue
		}
		if string(name) == want {
			if s.seen&(1<<i) != 0 {
				return fmt.Errorf("member %q occurs twice", want)
			}
			s.seen |= 1 << i
		} else if bytes.EqualFold(name, []byte(want)) {
			return fmt.Errorf("member %q is a case variant of %q", name, want)
		}
	}
	return nil
}

// Check takes all names of an object. Anything but an object is also refused.
func (s NameCheck) Check(object []byte) error {
	m, err := Walk(object)
	for err == nil {
		var name []byte
		if name, _, err = m.Next(); name == nil {
			break
		}
		err = s.Add(name)
	}
	return err
}
