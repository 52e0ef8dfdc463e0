package private

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// stranger names who else may look into a folder, if there is one.
func stranger(dir string) string {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err.Error()
	}
	is, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err.Error()
	}
	list := is.String()
	entries := strings.Split(list, "(")[1:]
	if len(entries) == 0 {
		return "no access list: " + list
	}
	for _, entry := range entries {
		f := strings.Split(strings.TrimSuffix(entry, ")"), ";")
		if who := f[len(f)-1]; who != user.User.Sid.String() && who != "SY" && who != "BA" && who != "LA" {
			return fmt.Sprintf("%s may look in: %s", who, list)
		}
	}
	return ""
}

// The check of these tests sees a folder that is open.
func TestStranger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;WD)")
	if err != nil {
		t.Fatal(err)
	}
	acl, _, err := list.DACL()
	if err != nil {
		t.Fatal(err)
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		t.Fatal(err)
	}
	if stranger(dir) == "" {
		t.Error("everybody may look in, and the check does not see it")
	}
	t.Log(stranger(dir))
}
