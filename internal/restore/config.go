package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxConfig is how large a file of the user's configuration may be.
const maxConfig = 16 << 20

// Config copies from the configuration directory of the user what the CLI needs
// to be the same elsewhere. stateDir is where its state is: the directory itself,
// or the home directory if the CLI would use that. Files that are not there, or
// that are not JSON, are left out; the CLI does the same.
//
// Without login, only the settings are copied, and of those nothing that signs in,
// redirects or is a variable. The state stays behind as a whole: it holds keys,
// accounts and the variables of MCP servers, and a CLI that is not used by a person
// does without it.
func Config(root *os.Root, configDir, stateDir string, login bool) error {
	for _, f := range []struct {
		dir, name string
		login     bool // it is for a login only
		change    func(map[string]json.RawMessage)
	}{
		{configDir, ".credentials.json", true, dropRefreshToken},
		{stateDir, ".claude.json", true, nil},
		{configDir, ".config.json", true, nil},
		{configDir, "settings.json", false, dropPlugins},
		{configDir, "cowork_settings.json", false, dropPlugins},
	} {
		if !login {
			if f.login {
				continue
			}
			f.change = dropLogin
		}
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

// dropLogin drops the same settings as dropPlugins, and everything that gives the
// CLI or its servers credentials. Settings of newer versions are known by the form
// of their names.
func dropLogin(members map[string]json.RawMessage) {
	dropPlugins(members)
	for name := range members {
		if slices.Contains([]string{"env", "mcpServers", "pluginConfigs"}, name) || strings.HasPrefix(name, "forceLogin") ||
			slices.ContainsFunc([]string{"Helper", "AuthRefresh", "CredentialExport"}, func(end string) bool { return strings.HasSuffix(name, end) }) {
			delete(members, name)
		}
	}
}
