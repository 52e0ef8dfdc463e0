package private

import (
	"io/fs"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mkdir(path string) error {
	if err := create(path); err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

func create(path string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	list, err := windows.SecurityDescriptorFromString(accessList(user.User.Sid.String()))
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	return windows.CreateDirectory(name, &windows.SecurityAttributes{
		Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: list,
	})
}

// accessList is protected from the lists of the folders above (P). It grants everything
// (FA), here and in all that is made below (OICI), to a user, the system (SY) and
// administrators (BA).
func accessList(user string) string {
	return "D:P(A;OICI;FA;;;" + user + ")(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
}
