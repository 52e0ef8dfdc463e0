package otelclaude

import "go.opentelemetry.io/otel/attribute"

// ScopeName is the name of the tracer and of the meter.
const ScopeName = "github.com/claude-agent-go/claude/otelclaude"

// SemanticConventions is the version of the OpenTelemetry semantic conventions
// that the names are taken from. Later versions of their Go package leave out
// generative AI, so the names are constants here.
const SemanticConventions = "1.41.0"

const schemaURL = "https://opentelemetry.io/schemas/" + SemanticConventions

// Attributes of the semantic conventions.
const (
	keyOperation     attribute.Key = "gen_ai.operation.name"
	keyProvider      attribute.Key = "gen_ai.provider.name"
	keyConversation  attribute.Key = "gen_ai.conversation.id"
	keyAgent         attribute.Key = "gen_ai.agent.name"
	keyRequestModel  attribute.Key = "gen_ai.request.model"
	keyResponseModel attribute.Key = "gen_ai.response.model"
	keyFinishReasons attribute.Key = "gen_ai.response.finish_reasons"
	keyInput         attribute.Key = "gen_ai.usage.input_tokens"
	keyOutput        attribute.Key = "gen_ai.usage.output_tokens"
	keyCacheRead     attribute.Key = "gen_ai.usage.cache_read.input_tokens"
	keyCacheCreation attribute.Key = "gen_ai.usage.cache_creation.input_tokens"
	keyTokenType     attribute.Key = "gen_ai.token.type"
	keyToolName      attribute.Key = "gen_ai.tool.name"
	keyToolCall      attribute.Key = "gen_ai.tool.call.id"
	keyToolType      attribute.Key = "gen_ai.tool.type"
	keyToolArguments attribute.Key = "gen_ai.tool.call.arguments"
	keyToolResult    attribute.Key = "gen_ai.tool.call.result"
	keyInputText     attribute.Key = "gen_ai.input.messages"
	keyOutputText    attribute.Key = "gen_ai.output.messages"
	keyErrorType     attribute.Key = "error.type"
	keyHTTPStatus    attribute.Key = "http.response.status_code"
	keyHTTPMethod    attribute.Key = "http.request.method"
	keyHTTPRoute     attribute.Key = "http.route"
)

// keyCLIPrompt is the CLI's name for its own id of a prompt, so that a search for the
// id finds both its events and our turn.
const keyCLIPrompt attribute.Key = "prompt.id"

// Attributes that the conventions have no name for.
const (
	keyPrompts      attribute.Key = "claude.prompt.ids"
	keyAgentTurns   attribute.Key = "claude.agent_turns"
	keyCost         attribute.Key = "claude.cost.usd"
	keyOutcome      attribute.Key = "claude.tool.outcome"
	keyDecision     attribute.Key = "claude.permission.decision"
	keyRequest      attribute.Key = "claude.request.id"
	keyHookEvent    attribute.Key = "claude.hook.event"
	keyOp           attribute.Key = "claude.control.operation"
	keyTask         attribute.Key = "claude.task.id"
	keyRetryAttempt attribute.Key = "claude.retry.attempt"
	keyRetryDelay   attribute.Key = "claude.retry.delay_ms"
	keyCLIVersion   attribute.Key = "claude.cli.version"
	keyTerminal     attribute.Key = "claude.terminal_reason"
	keyFleetKey     attribute.Key = "claude.fleet.key"
	keyPrompt       attribute.Key = "claude.prompt.id"
	keyPromptStatus attribute.Key = "claude.prompt.status"
	keyPromptWork   attribute.Key = "claude.prompt.work"
	keyAttempt      attribute.Key = "claude.prompt.attempt"
	keyQuestion     attribute.Key = "claude.approval.id"
)

// Values of gen_ai.operation.name and gen_ai.provider.name.
const (
	opAgent  = "invoke_agent"
	opTool   = "execute_tool"
	provider = "anthropic"
)

// Values of claude.tool.outcome.
const (
	outcomeOK       = "ok"
	outcomeError    = "error"
	outcomeDenied   = "denied"
	outcomeDeferred = "deferred"
	outcomeNone     = "no_result" // the turn or the session ended before
)

// Values of error.type that this package has chosen. Others are the API's or the
// CLI's own names, or the types of Go errors.
const (
	errTool        = "tool_error"
	errDenied      = "permission_denied"
	errInterrupted = "interrupted"
	errWithdrawn   = "withdrawn" // the CLI withdrew its question
	errClosed      = "session_closed"
	errCanceled    = "canceled"
	errTimeout     = "timeout"
	errProcess     = "process_exited"
	errStart       = "start_failed"
	errControl     = "control_refused"
	errNoResult    = "no_result"
	errTurn        = "turn_failed"
	errAborted     = "aborted" // the answer to a request
)
