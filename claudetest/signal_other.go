//go:build !unix

package claudetest

import "os"

// signalSelf ends this process as a signal would.
func signalSelf(name string) { os.Exit(128 + signalNumber(name)) }
