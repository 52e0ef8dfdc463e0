//go:build !unix

package store_test

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.ErrUnsupported }
