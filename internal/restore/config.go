package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxConfig is how large a file of the user's configuration may be.
const maxConfig = 16 << 20

// Config copies from the configuration directory of the user what the CLI needs
// to be the same elsewhere. stateDir is where its state is: the directory itself,
// or the home directory if the CLI would use that. Files that are not there, or
// that are not JSON, are left out; the CLI does the same.
func Config(root *os.Root, configDir, stateDir string) error {
	for _, f := range []struct {
		dir, name string
		change    func(map[string]json.RawMessage)
	}{
		{configDir, ".credentials.json", dropRefreshToken},
		{stateDir, ".claude.json", nil},
		{configDir, ".config.json", nil},
		{configDir, "settings.json", dropPlugins},
		{configDir, "cowork_settings.json", dropPlugins},
	} {
		if err := copyJSON(root, f.dir, f.name, f.change); err != nil {
			return fmt.Errorf("copy %s: %w", f.name, err)
		}
	}
	return nil
}

func copyJSON(root *os.Root, dir, name string, change func(map[string]json.RawMessage)) error {
	from := filepath.Join(dir, name)
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return nil
	}
	if change != nil {
		change(members)
		if data, err = json.Marshal(members); err != nil {
			return err
		}
	}
	return root.WriteFile(name, data, 0o600)
}

// inside changes an object within another. One that is not an object is dropped:
// what cannot be looked into is not passed on.
func inside(members map[string]json.RawMessage, name string, change func(map[string]json.RawMessage)) {
	text, ok := members[name]
	if !ok {
		return
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(text, &inner) != nil || inner == nil {
		delete(members, name)
		return
	}
	change(inner)
	if data, err := json.Marshal(inner); err == nil {
		members[name] = data
	} else {
		delete(members, name)
	}
}

func dropRefreshToken(members map[string]json.RawMessage) {
	inside(members, "claudeAiOauth", func(m map[string]json.RawMessage) { delete(m, "refreshToken") })
}

// dropPlugins drops what refers to other files of the directory, and what would
// lead the CLI back there.
func dropPlugins(members map[string]json.RawMessage) {
	for _, name := range []string{"enabledPlugins", "extraKnownMarketplaces", "additionalMarketplaces"} {
		delete(members, name)
	}
	inside(members, "env", func(m map[string]json.RawMessage) { delete(m, "CLAUDE_CONFIG_DIR") })
}
