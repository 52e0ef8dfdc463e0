package control

import "encoding/json"

// MCPState is the state of the connection to an MCP server.
type MCPState string

// The connection states.
const (
	MCPConnected MCPState = "connected"
	MCPFailed    MCPState = "failed"
	MCPNeedsAuth MCPState = "needs-auth"
	MCPPending   MCPState = "pending"
	MCPDisabled  MCPState = "disabled"
)

// MCPServerStatus describes one MCP server of the session.
type MCPServerStatus struct {
	Name   string   `json:"name"`
	Status MCPState `json:"status"`
	// ServerInfo is the server's description of itself, once connected.
	ServerInfo *MCPServerInfo `json:"serverInfo,omitzero"`
	// Error is why the connection failed.
	Error string `json:"error,omitzero"`
	// Config is the server's configuration, in one of several shapes.
	Config json.RawMessage `json:"config,omitzero"`
	// Scope and Source name the origin of the configuration.
	Scope  string `json:"scope,omitzero"`
	Source string `json:"source,omitzero"`
	// Transport is how the server is reached, for example "sdk" or "stdio".
	Transport string          `json:"transport,omitzero"`
	Tools     []MCPTool       `json:"tools,omitzero"`
	Raw       json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *MCPServerStatus) UnmarshalJSON(data []byte) (err error) {
	type fields MCPServerStatus
	*v = MCPServerStatus{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// MCPServerInfo is the name and version that an MCP server gives itself.
type MCPServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
}

// MCPTool is a tool of an MCP server.
type MCPTool struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitzero"`
	Annotations MCPToolAnnotations `json:"annotations,omitzero"`
	Meta        json.RawMessage    `json:"_meta,omitzero"`
}

// MCPToolAnnotations are the server's hints about the effects of a tool.
type MCPToolAnnotations struct {
	ReadOnly    bool `json:"readOnly,omitzero"`
	Destructive bool `json:"destructive,omitzero"`
	OpenWorld   bool `json:"openWorld,omitzero"`
}

// MCPSetResult reports the changes made by setting the MCP servers of a
// session.
type MCPSetResult struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	// Errors explains, by server, why one could not be added.
	Errors map[string]string `json:"errors"`
	Raw    json.RawMessage   `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *MCPSetResult) UnmarshalJSON(data []byte) (err error) {
	type fields MCPSetResult
	*v = MCPSetResult{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}

// MCPResource is a resource read from an MCP server; it has Text, or Blob in
// base64.
type MCPResource struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitzero"`
	Text     string          `json:"text,omitzero"`
	Blob     string          `json:"blob,omitzero"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// MCPToolPolicy limits one tool of an MCP server.
type MCPToolPolicy struct {
	Name string `json:"name"`
	// PermissionPolicy is "always_allow", "always_ask" or "always_deny".
	PermissionPolicy string `json:"permission_policy,omitzero"`
	// OrgMaxPermission is "allow", "ask" or "blocked".
	OrgMaxPermission string `json:"org_max_permission,omitzero"`
}

// MCPCallResult is the answer of a tool of an MCP server.
type MCPCallResult struct {
	// Content are the blocks of the answer, StructuredContent its object.
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitzero"`
	Meta              json.RawMessage   `json:"_meta,omitzero"`
	Raw               json.RawMessage   `json:"-"`
}

// UnmarshalJSON decodes leniently: fields that do not fit stay zero.
func (v *MCPCallResult) UnmarshalJSON(data []byte) (err error) {
	type fields MCPCallResult
	*v = MCPCallResult{}
	v.Raw, err = soft(data, (*fields)(v))
	return err
}
