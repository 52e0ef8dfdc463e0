package workspace

func mkfifo(string) error { return nil }
