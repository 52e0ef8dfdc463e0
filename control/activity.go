package control

// Activity is the state of a CLI, such as "idle" or "running". The set is open;
// package message has constants for the states that the CLI knows.
type Activity string
