package show

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What git writes about each kind of change is read: names with blanks, quotes and letters
// beyond ASCII, hunks of one line, files without lines, and what only looks like a new file.
func TestGitPatch(t *testing.T) {
	t.Parallel()
	const patch = `diff --git a/moved b/d/moved
similarity index 100%
rename from moved
rename to d/moved
diff --git a/e b b/e b
new file mode 100644
index 0000000..e69de29
diff --git a/fresh b/fresh
new file mode 100644
index 0000000..3e75765
--- /dev/null
+++ b/fresh
@@ -0,0 +1 @@
+diff --git a/x b/x
diff --git a/gone b/gone
deleted file mode 100644
index b023018..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/script b/script
old mode 100644
new mode 100755
diff --git a/with space.txt b/with space.txt
index de98044..7be73ce 100644
--- a/with space.txt	
+++ b/with space.txt	
@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -11 +11,2 @@
-- old
+++ new
+2
diff --git "a/\303\274\"q.txt" "b/\303\274\"q.txt"
index c1b0730..e25f181 100644
--- "a/\303\274\"q.txt"
+++ "b/\303\274\"q.txt"
@@ -1 +1 @@
-x
\ No newline at end of file
+y
\ No newline at end of file
diff --git "a/\303\274.bin" "b/\303\274.bin"
new file mode 100644
index 0000000..c1b0730
GIT binary patch
literal 3
KcmZQzU|?hb000310RR91

diff --git a/old b/new
similarity index 50%
copy from old
copy to new
--- a/old
+++ b/new
@@ -1 +1 @@ func x
-1
+2
`
	var got []string
	for f := range GitPatch(patch) {
		text := f.Path + " [" + f.What + "]"
		if f.Diff != nil {
			text += fmt.Sprintf(" +%d -%d", f.Diff.Added, f.Diff.Removed)
			for _, l := range f.Diff.Lines {
				text += fmt.Sprintf(" %d%s%s", l.Number, l.Sign, l.Text)
			}
		}
		got = append(got, text)
	}
	want := []string{
		"d/moved [renamed from moved]",
		"e b [new]",
		"fresh [new] +1 -0 1+diff --git a/x b/x",
		"gone [deleted] +0 -1 1-bye",
		"script [mode 100644 → 100755]",
		"with space.txt [] +3 -2 1 a 2-b 2+B 3 c 0⋯ 11-- old 11+++ new 12+2",
		"ü\"q.txt [] +1 -1 1-x 0No newline at end of file 1+y 0No newline at end of file",
		"ü.bin [new, binary]",
		"new [copied from old] +1 -1 1-1 1+2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range GitPatch(patch) {
		break // a reader may leave
	}
	for _, odd := range []string{"", "hello", "diff --git ", "diff --git a", "diff --git \"a\n", "diff --git a/x b/x\n@@ -x +y @@\n"} {
		for f := range GitPatch(odd) {
			if f.Diff != nil || f.What != "" {
				t.Errorf("%q: %+v", odd, f)
			}
		}
	}
}
