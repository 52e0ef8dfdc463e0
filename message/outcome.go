package message

import (
	"slices"
	"strconv"
	"strings"
)

// Failed reports whether the turn failed: IsError is set or, for a CLI that
// does not set it, the subtype is one of the errors.
func (m *Result) Failed() bool {
	return m.IsError || strings.HasPrefix(m.Subtype, "error")
}

// Interrupted reports whether the turn failed because it was stopped, by an
// interrupt or by a denial that stops the turn. CLIs up to 2.1.0 do not report
// why a turn ended; for them, a turn that broke off without any error counts as
// interrupted.
func (m *Result) Interrupted() bool {
	switch m.TerminalReason {
	case EndAbortedStreaming, EndAbortedTools:
		return true
	case "":
		return m.Subtype == ResultErrorExecution && !m.IsError && len(m.Errors) == 0
	}
	return false
}

// Retryable reports whether the turn failed for a temporary reason: the API
// was overloaded, limited the rate, failed internally, or could not be
// reached. The same prompt may succeed after a while. The CLI has already
// tried several times. Tools that the turn ran before it failed have taken
// effect.
func (m *Result) Retryable() bool {
	if !m.Failed() {
		return false
	}
	switch m.APIError {
	case "connection_failed", "no_response", "stream_idle_timeout", "computer_slept":
		return true
	}
	status, text := m.apiStatus()
	switch {
	case status == 408, status == 409, status == 429, status >= 500:
		return true
	case status != 0 || m.TerminalReason != "" && m.TerminalReason != EndAPIError:
		return false
	}
	// A time limit has no code of its own, and CLIs up to 2.1.0 have no code
	// for the network.
	return slices.Contains([]string{"Request timed out", "Connection error."}, text)
}

// apiErrorMark begins the text of most API errors.
const apiErrorMark = "API Error: "

// apiStatus returns the HTTP status of a failed API call, 0 for none, and the
// text without the mark. CLIs up to 2.1.0 have the status in the text only.
func (m *Result) apiStatus() (status int, text string) {
	text, marked := strings.CutPrefix(m.Text, apiErrorMark)
	if m.APIErrorStatus != 0 || !marked {
		return m.APIErrorStatus, text
	}
	number, _, _ := strings.Cut(text, " ")
	if n, err := strconv.Atoi(number); err == nil && n >= 400 && n < 600 {
		return n, text
	}
	return 0, text
}

// Problem describes in a few words why a turn failed; it is "" for a turn that
// did not. It repeats nothing, and leaves out the CLI's notes for its own
// developers.
func (m *Result) Problem() string {
	if !m.Failed() {
		return ""
	}
	_, text := m.apiStatus()
	why := string(m.TerminalReason)
	switch {
	case why != "":
	case strings.HasPrefix(m.Text, apiErrorMark):
		why = string(EndAPIError)
	case m.Subtype != ResultSuccess:
		why = m.Subtype
	}
	if said := m.said(); said != "" {
		text = said
	}
	switch {
	case text == "" || text == why:
		return why
	case why == "" || why == ResultErrorExecution:
		return text
	}
	return why + ": " + text
}

// said joins Errors, without repetitions and without diagnostics.
func (m *Result) said() string {
	var said []string
	for _, text := range m.Errors {
		if text != "" && !strings.HasPrefix(text, "[ede_diagnostic]") && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}
