//go:build !linux && !darwin && !windows

package terminal

import "os"

func width(*os.File) (columns int, ok bool) { return 0, false }

func supportsEscapes(*os.File) bool { return false }

func dropInput(*os.File) {}
