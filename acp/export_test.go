package acp

// What the tests outside of the package use of an agent of their own.
type (
	Contract     = backend
	AgentSession = agentSession
	Editor       = editor
	Extensions   = extensions
)

type custom struct{ Contract }

func (c custom) backend() backend { return c.Contract }

// Custom is a back-end of a test.
func Custom(c Contract) Backend { return custom{c} }

// ContractOf is a back-end as Serve uses it.
func ContractOf(b Backend) Contract { return b.backend() }
