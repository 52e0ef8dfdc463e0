package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errKept means that another process has the file open and shares it with none.
const errKept = windows.ERROR_SHARING_VIOLATION

// syncFile syncs a file. Windows syncs only what may be written; git has synced its objects,
// which may not, itself. Meanwhile others may rename and remove the file, as git does.
func syncFile(path string) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return &os.PathError{Op: "sync", Path: path, Err: err}
	}
	return errors.Join(windows.FlushFileBuffers(h), windows.CloseHandle(h))
}
