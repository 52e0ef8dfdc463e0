// Package takeover kills the process of a fleet at a chosen moment, lets another process
// take over, and judges the outcome. The command internal/test/kills makes a table of
// it; each store that is linked by another module has a program there, which calls [Main].
//
// # A run
//
// A conversation gets two prompts. The model, a scripted one behind the real CLI, answers
// the first with a call of a tool whose only effect is a line in a file. The process that
// runs the fleet, the first, kills itself with SIGKILL: before or after one of its writes to
// the store, or some milliseconds after the line appeared. A second process opens the same
// store, and must bring both prompts to their answers.
//
// The runs of a case differ: in every second one a person decides only after the call was
// deferred, in every third the tool continues for a second after its effect, and in every
// third the model makes the call once more when it reads that its outcome is unknown.
//
// # What must hold
//
//   - No call has its effect twice. Another call has the same effect only if the model made
//     it after it had read that the outcome of the first is unknown.
//   - The model knows of every call that had its effect.
//   - No person is asked twice about one call, nor about another one that the model
//     made because it did not know that the first was let go.
//   - A decision is used, or its question gives the reason why it was not.
//   - No gated call has its effect without a decision.
//   - Both prompts are answered once, in order.
//   - No process is left.
//
// [Judge] holds these rules. It is a function of what was seen, so its tests plant each
// fault.
package takeover
