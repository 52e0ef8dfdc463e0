package claude

import (
	"context"

	"github.com/claude-agent-go/claude/control"
)

// InterruptAll stops the turn that runs, as Interrupt does, and takes back all
// prompts that wait behind it; the receipt names them.
func (s *Session) InterruptAll(ctx context.Context) (*control.Interrupted, error) {
	payload := struct {
		CancelQueued bool `json:"cancel_queued"`
	}{true}
	receipt := new(control.Interrupted)
	return receipt, s.operate(ctx, "interrupt", payload, s.opts.Timeouts.Control, receipt)
}

// CancelPrompt takes back a prompt that waits for its turn, by the id that Send
// returned. It reports false for one that has begun, or that is not known.
func (s *Session) CancelPrompt(ctx context.Context, messageID string) (cancelled bool, err error) {
	payload := struct {
		ID string `json:"message_uuid"`
	}{messageID}
	var reply struct {
		Cancelled bool `json:"cancelled"`
	}
	err = s.operate(ctx, "cancel_async_message", payload, s.opts.Timeouts.Control, &reply)
	return reply.Cancelled, err
}

// AskSideQuestion asks something about the conversation beside it: the answer is
// not added to it, and a turn that runs goes on. The model is called, so ctx
// alone bounds the wait.
func (s *Session) AskSideQuestion(ctx context.Context, question string) (*control.SideAnswer, error) {
	payload := struct {
		Question string `json:"question"`
	}{question}
	answer := new(control.SideAnswer)
	return answer, s.operate(ctx, "side_question", payload, NoTimeout, answer)
}

// Rename gives the session another title.
func (s *Session) Rename(ctx context.Context, title string) error {
	payload := struct {
		Title  string `json:"title"`
		Source string `json:"source"`
	}{title, "host"}
	return s.operate(ctx, "rename_session", payload, s.opts.Timeouts.Control, nil)
}

// GenerateTitle lets the model find a title for what is described, and keeps
// it as that of the session if persist is set. The title is empty when the
// model gave none. ctx alone bounds the wait.
func (s *Session) GenerateTitle(ctx context.Context, description string, persist bool) (title string, err error) {
	payload := struct {
		Description string `json:"description"`
		Persist     bool   `json:"persist"`
	}{description, persist}
	var reply struct {
		Title string `json:"title"`
	}
	err = s.operate(ctx, "generate_session_title", payload, NoTimeout, &reply)
	return reply.Title, err
}

// End asks the CLI to end the session by itself. It has agreed when End
// returns; Done says when it is over. Close is the surer way, and needed all
// the same.
func (s *Session) End(ctx context.Context, reason string) error {
	payload := struct {
		Reason string `json:"reason,omitzero"`
	}{reason}
	return s.operate(ctx, "end_session", payload, s.opts.Timeouts.Control, nil)
}
