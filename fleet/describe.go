package fleet

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/store"
)

// Description is a title and labels that a program keeps with a conversation. The fleet does
// not use it; the model does not see it.
type Description struct {
	// Title is for lists: at most 200 characters, no control characters.
	Title string
	// Labels are small values by name, such as the id of a customer: at most 16, with
	// names of 1 to 64 and values of at most 256 bytes.
	Labels map[string]string
}

// The limits of a [Description]. It is read and written with every turn.
const (
	maxTitle      = 200
	maxLabels     = 16
	maxLabelName  = 64
	maxLabelValue = 256
)

// check refuses a description that is too large, or that a list cannot show.
func (d *Description) check() error {
	switch {
	case !plain(d.Title):
		return fmt.Errorf("%w: the title is not text without control characters", store.ErrInvalid)
	case utf8.RuneCountInString(d.Title) > maxTitle:
		return fmt.Errorf("%w: the title has more than %d characters", store.ErrInvalid, maxTitle)
	case len(d.Labels) > maxLabels:
		return fmt.Errorf("%w: there are more than %d labels", store.ErrInvalid, maxLabels)
	}
	for name, value := range d.Labels {
		if name == "" || len(name) > maxLabelName || !plain(name) {
			return fmt.Errorf("%w: the name of the label %.70q is not text of 1 to %d bytes", store.ErrInvalid, name, maxLabelName)
		}
		if len(value) > maxLabelValue || !plain(value) {
			return fmt.Errorf("%w: the label %q is not text of at most %d bytes", store.ErrInvalid, name, maxLabelValue)
		}
	}
	return nil
}

// plain reports whether a text is UTF-8 without control characters.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
