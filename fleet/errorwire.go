package fleet

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store"
)

// sentError is an error on its way to another process. There it has the same text, and
// matches the same sentinel errors and types as far as the tables below have them.
type sentError struct {
	Text string `json:"text"`
	// Is are the names of sentinel errors, and As the values of types, by name.
	Is []string                   `json:"is,omitempty"`
	As map[string]json.RawMessage `json:"as,omitempty"`
}

// sentinels are the errors that a caller finds with [errors.Is].
var sentinels = map[string]error{
	"fleet.ErrUnknown":      ErrUnknown,
	"fleet.ErrForeign":      ErrForeign,
	"fleet.ErrOverloaded":   ErrOverloaded,
	"fleet.ErrBudget":       ErrBudget,
	"fleet.ErrStuck":        ErrStuck,
	"fleet.ErrElsewhere":    ErrElsewhere,
	"fleet.ErrDeleted":      ErrDeleted,
	"fleet.ErrExists":       ErrExists,
	"fleet.ErrTimeout":      ErrTimeout,
	"fleet.ErrBegun":        ErrBegun,
	"fleet.ErrCursorTooOld": ErrCursorTooOld,
	"fleet.ErrResumed":      ErrResumed,
	"fleet.ErrSessionOpen":  ErrSessionOpen,

	"store.ErrNotFound":  store.ErrNotFound,
	"store.ErrInvalid":   store.ErrInvalid,
	"store.ErrDeleted":   store.ErrDeleted,
	"store.ErrLeased":    store.ErrLeased,
	"store.ErrLeaseLost": store.ErrLeaseLost,
	"store.ErrConflict":  store.ErrConflict,
	"store.ErrDamaged":   store.ErrDamaged,
	"store.ErrTooLarge":  store.ErrTooLarge,
	"store.ErrBusy":      store.ErrBusy,
	"store.ErrOvertaken": store.ErrOvertaken,
	"store.ErrNotStored": store.ErrNotStored,

	"claude.ErrClosed":             claude.ErrClosed,
	"claude.ErrInterrupted":        claude.ErrInterrupted,
	"claude.ErrWithdrawn":          claude.ErrWithdrawn,
	"claude.ErrUnsupportedVersion": claude.ErrUnsupportedVersion,
	"claude.ErrNotFound":           claude.ErrNotFound,
	"claude.ErrNoSession":          claude.ErrNoSession,
	"claude.ErrStore":              claude.ErrStore,
	"claude.ErrSpawn":              claude.ErrSpawn,
	"claude.ErrInitializeTimeout":  claude.ErrInitializeTimeout,
	"claude.ErrInitializeRefused":  claude.ErrInitializeRefused,
	"claude.ErrExited":             claude.ErrExited,
	"claude.ErrTimeout":            claude.ErrTimeout,
	"claude.ErrNotInitialized":     claude.ErrNotInitialized,
	"claude.ErrQueueFull":          claude.ErrQueueFull,
	"claude.ErrTooManyPending":     claude.ErrTooManyPending,
	"claude.ErrNoCheckpoints":      claude.ErrNoCheckpoints,
}

// errorTypes are the types that a caller finds with [errors.As].
func errorTypes() map[string]errorType {
	return map[string]errorType{
		"fleet.ConversationError": around(func(e *ConversationError) []*error { return []*error{&e.Reason} }),
		"fleet.InDoubtError":      around(func(e *InDoubtError) []*error { return []*error{&e.Err} }),
		"fleet.OverloadedError":   asIs[OverloadedError](),
		"fleet.BudgetError":       asIs[BudgetError](),
		"fleet.StuckError":        asIs[StuckError](),
		"fleet.DeferredError":     asIs[DeferredError](),
		"fleet.ResumedError":      asIs[ResumedError](),
		"fleet.SessionOpenError":  asIs[SessionOpenError](),

		"store.KeyError":       asIs[store.KeyError](),
		"store.HeldError":      asIs[store.HeldError](),
		"store.NotStoredError": around(func(e *store.NotStoredError) []*error { return []*error{&e.Err} }),

		"claude.OptionError":  asIs[claude.OptionError](),
		"claude.StartError":   around(func(e *claude.StartError) []*error { return []*error{&e.Reason, &e.Err} }),
		"claude.ControlError": around(func(e *claude.ControlError) []*error { return []*error{&e.Err} }),
		"claude.ProcessError": around(func(e *claude.ProcessError) []*error {
			e.Result = nil // the transcript has it
			return []*error{&e.Err}
		}),
	}
}

// errorType packs the errors of a type.
type errorType struct {
	pack   func(error) json.RawMessage // nil if the error is not of the type
	unpack func(json.RawMessage) error // nil if another version has sent it
}

// asIs is for types without errors in them.
func asIs[T any, P interface {
	*T
	error
}]() errorType {
	return around(func(P) []*error { return nil })
}

// around is for types with errors in them, to which inner points. It gets a copy, and may
// clear what cannot be sent.
func around[T any, P interface {
	*T
	error
}](inner func(P) []*error) errorType {
	type form struct {
		Value T            `json:"value"`
		Inner []*sentError `json:"inner,omitempty"`
	}
	return errorType{
		pack: func(err error) json.RawMessage {
			found, ok := errors.AsType[P](err)
			if !ok {
				return nil
			}
			f := form{Value: *found}
			for _, at := range inner(&f.Value) {
				f.Inner = append(f.Inner, packError(*at))
				*at = nil
			}
			data, err := json.Marshal(f) // which knows time.Duration
			if err != nil {
				return nil
			}
			return data
		},
		unpack: func(data json.RawMessage) error {
			var f form
			if json.Unmarshal(data, &f) != nil {
				return nil
			}
			for i, at := range inner(&f.Value) {
				if i < len(f.Inner) && f.Inner[i] != nil {
					*at = f.Inner[i].unpack()
				}
			}
			return P(&f.Value)
		},
	}
}

// packError makes an error fit for another process, nil of nil.
func packError(err error) *sentError {
	if err == nil {
		return nil
	}
	out := &sentError{Text: err.Error()}
	for _, name := range slices.Sorted(maps.Keys(sentinels)) {
		if errors.Is(err, sentinels[name]) {
			out.Is = append(out.Is, name)
		}
	}
	for name, kind := range errorTypes() {
		if value := kind.pack(err); value != nil {
			if out.As == nil {
				out.As = make(map[string]json.RawMessage)
			}
			out.As[name] = value
		}
	}
	return out
}

// unpack is the error that another process had. Errors that this version does not know
// arrive as text.
func (s *sentError) unpack() error {
	out, types := &receivedError{text: s.Text}, errorTypes()
	for _, name := range slices.Sorted(maps.Keys(s.As)) {
		if kind, ok := types[name]; ok {
			if err := kind.unpack(s.As[name]); err != nil {
				out.known = append(out.known, err)
			}
		}
	}
	for _, name := range s.Is {
		if err := sentinels[name]; err != nil {
			if len(s.As) == 0 && err.Error() == s.Text {
				return err // the sentinel itself: fields such as that of a StartError are compared with it
			}
			out.known = append(out.known, err)
		}
	}
	return out
}

// receivedError is an error of another process.
type receivedError struct {
	text  string
	known []error
}

func (e *receivedError) Error() string { return e.text }

func (e *receivedError) Unwrap() []error { return e.known }
