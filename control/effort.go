package control

import (
	"strconv"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Effort is how hard the model works on an answer, such as "high". The set is
// open; package claude has constants for the levels that the CLI knows. An
// [AgentDefinition] may also have a number, written in digits: "40".
type Effort string

// MarshalJSON encodes a level as a string and a number as a number.
func (e Effort) MarshalJSON() ([]byte, error) {
	if e.isNumber() {
		return []byte(e), nil
	}
	return jsonx.Marshal(string(e))
}

// UnmarshalJSON decodes a level, or a whole number into its digits.
func (e *Effort) UnmarshalJSON(data []byte) error {
	if number := Effort(data); number.isNumber() {
		*e = number
		return nil
	}
	return jsonx.Unmarshal(data, (*string)(e))
}

func (e Effort) isNumber() bool {
	n, err := strconv.Atoi(string(e))
	return err == nil && strconv.Itoa(n) == string(e)
}
