package harness

// KeptBack are the variables that a CLI must not inherit from any program. The
// list is written out, not read from the code, so that a test fails when a row
// there is lost.
func KeptBack() []string {
	return []string{
		"NODE_OPTIONS", "CLAUDECODE",
		"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH",
		"DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH",
		"DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FALLBACK_FRAMEWORK_PATH",
		"DYLD_VERSIONED_LIBRARY_PATH", "DYLD_VERSIONED_FRAMEWORK_PATH",
		"BUN_OPTIONS", "BUN_INSPECT", "BUN_INSPECT_CONNECT_TO", "BUN_INSPECT_NOTIFY", "BUN_INSPECT_PRELOAD",
		"NODE_REPL_EXTERNAL_MODULE", "VSCODE_INSPECTOR_OPTIONS",
		"CLAUDE_CODE_SSE_PORT", "ANTHROPIC_LOG", "CLAUDECTL_TOKEN", "CLAUDECTL_OIDC_SECRET",
	}
}
