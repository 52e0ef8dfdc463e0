package brief

import (
	"cmp"
	"strings"

	"github.com/claude-agent-go/claude/message"
)

// endings describes the reasons and subtypes of results for people.
func endings() map[string]string {
	return map[string]string{
		string(message.EndCompleted):                "completed",
		string(message.EndAbortedStreaming):         "interrupted",
		string(message.EndAbortedTools):             "interrupted",
		string(message.EndAPIError):                 "the API failed",
		string(message.EndModelError):               "the model failed",
		string(message.EndImageError):               "an image could not be used",
		string(message.EndPromptTooLong):            "the prompt is too long",
		string(message.EndBlockingLimit):            "a usage limit was reached",
		string(message.EndRapidRefillBreaker):       "the context kept filling up",
		string(message.EndMalformedToolUse):         "the model kept calling tools wrongly",
		string(message.EndStopHookPrevented):        "stopped by a hook",
		string(message.EndHookStopped):              "stopped by a hook",
		string(message.EndToolDeferred):             "a tool call was put off",
		string(message.EndToolDeferredUnavailable):  "the tool that was put off is gone",
		string(message.EndMaxTurns):                 "the limit of turns was reached",
		string(message.EndBudgetExhausted):          "the budget is used up",
		string(message.EndStructuredOutputAttempts): "no answer fits the schema",
		string(message.EndBackgroundRequested):      "moved to the background",
		string(message.EndTurnSetupFailed):          "the turn could not begin",
		message.ResultSuccess:                       "completed",
		message.ResultErrorExecution:                "failed",
		message.ResultErrorMaxTurns:                 "the limit of turns was reached",
		message.ResultErrorMaxBudget:                "the budget is used up",
		message.ResultErrorMaxStructure:             "no answer fits the schema",
	}
}

// Ending describes in plain words how a turn ended; reason is the name on the
// wire: "interrupted" for "aborted_streaming".
func Ending(reason string) string {
	return cmp.Or(endings()[reason], strings.ReplaceAll(reason, "_", " "))
}

// EndingOf describes in plain words how the turn of a result ended.
func EndingOf(m *message.Result) string {
	if m.Interrupted() {
		return Ending(string(message.EndAbortedStreaming))
	}
	return Ending(cmp.Or(string(m.TerminalReason), m.Subtype))
}
