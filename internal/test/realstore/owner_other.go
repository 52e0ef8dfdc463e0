//go:build !unix

package realstore

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.ErrUnsupported }

func wake(*os.Process) error { return errors.ErrUnsupported }
