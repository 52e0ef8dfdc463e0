package hook

// Stage selects when a [PreToolUse] hook is asked about a call. A session asks
// its hooks one after the other: by stage, and within a stage in the order of
// the options. Each sees the input that its predecessors have left.
//
// A denial ends the chain: the hooks of the same stage are still asked, those of
// later stages are not. If the input changes after a hook or a guard has seen
// it, they are asked again about the new one, except hooks that changed it
// themselves.
type Stage int

// The stages. Other events have none.
const (
	// StageHook is the stage of hooks, which may change the input.
	StageHook Stage = iota
	// StageGuard is the stage of guards, which judge the input that hooks have
	// left. A guard that changes it must agree with its own change when it is
	// asked again.
	StageGuard
	// StageGate is the stage of a gate, which asks people. It is not asked about a
	// call that was denied or deferred. If it changes the input, the guards are
	// asked about the new one, and can only accept or deny it.
	StageGate
	// StageRelease is the last moment before a call that nothing objects to is
	// released. A hook of this stage cannot change the input.
	StageRelease
)

// At returns a copy of h that is asked at another stage.
func (h Hook) At(s Stage) Hook {
	h.Stage = s
	return h
}
