package schema

import "strings"

// explain makes the message of a failed validation shorter: the way through
// the schema is of no use to a model, the last part says what is wrong.
func explain(err error) string {
	text := err.Error()
	text = strings.ReplaceAll(text, "validating root: ", "")
	return strings.ReplaceAll(text, "validating ", "")
}
