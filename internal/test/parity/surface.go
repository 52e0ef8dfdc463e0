package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// surface holds the names in the declarations of the official SDK.
type surface struct {
	options  []string
	subtypes []string
	hooks    []string
	messages []string // "type" or "type/subtype"
	methods  []string // of a query
	exports  []string // functions and classes
	consts   []string // exported constants
	entries  []string // "bridge/attachBridgeSession": what other entry points add, "sdk-tools" if that is only types
}

// readSurface reads the declarations. A list that comes out empty means that
// their form has changed, and is an error.
func readSurface(entryPoints map[string]string) (*surface, error) {
	d := &declared{text: strings.ReplaceAll(entryPoints["."], "\r\n", "\n")}
	s := &surface{options: d.members("Options"), hooks: d.tuple("HOOK_EVENTS"), methods: d.methods("Query"), exports: d.exports(), consts: d.consts()}
	s.entries = otherEntries(entryPoints)
	for _, name := range d.union("SDKControlRequestInner") {
		s.subtypes = append(s.subtypes, d.literals(name, "subtype")...)
	}
	for _, name := range d.union("StdoutMessage") { // SDKMessage lacks some of what the CLI writes
		types, subtypes := d.literals(name, "type"), d.literals(name, "subtype")
		if len(types) == 1 && strings.HasPrefix(types[0], "control_") {
			continue // their subtypes are in a list of their own
		}
		if len(types) != 1 {
			return nil, fmt.Errorf("%s has types %q", name, types)
		}
		if len(subtypes) == 0 {
			s.messages = append(s.messages, types[0])
		}
		for _, subtype := range subtypes {
			s.messages = append(s.messages, types[0]+"/"+subtype)
		}
	}
	for name, list := range map[string]*[]string{"options": &s.options, "control requests": &s.subtypes, "hook events": &s.hooks, "messages": &s.messages, "methods": &s.methods, "functions": &s.exports, "constants": &s.consts, "entry points": &s.entries} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		if len(*list) < 5 {
			return nil, fmt.Errorf("only %d %s found in the declarations", len(*list), name)
		}
	}
	return s, nil
}

// declared is a file of TypeScript declarations as a tool lays it out: one
// declaration begins at the start of a line, its members are indented once.
type declared struct{ text string }

// body returns what stands behind "type NAME =".
func (d *declared) body(name string) string {
	for _, prefix := range []string{"\nexport declare type ", "\ndeclare type "} {
		if _, rest, ok := strings.Cut(d.text, prefix+name+" = "); ok {
			if strings.HasPrefix(rest, "{") {
				body, _, _ := strings.Cut(rest, "\n};")
				return body
			}
			body, _, _ := strings.Cut(rest, ";\n")
			return body
		}
	}
	return ""
}

var memberForm = regexp.MustCompile(`(?m)^    (\w+)\??:`)

// members names the members of an object type.
func (d *declared) members(name string) (names []string) {
	for _, m := range memberForm.FindAllStringSubmatch(d.body(name), -1) {
		names = append(names, m[1])
	}
	return names
}

var methodForm = regexp.MustCompile(`(?m)^    (\w+)\(`)

// methods names the methods of an interface.
func (d *declared) methods(name string) (names []string) {
	_, rest, _ := strings.Cut(d.text, "\nexport declare interface "+name+" ")
	body, _, _ := strings.Cut(rest, "\n}")
	for _, m := range methodForm.FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	return names
}

var constForm = regexp.MustCompile(`(?m)^export declare const (\w+)`)

// consts names the constants.
func (d *declared) consts() (names []string) {
	for _, m := range constForm.FindAllStringSubmatch(d.text, -1) {
		names = append(names, m[1])
	}
	return names
}

// otherEntries names what entry points besides the main one declare themselves. One
// that only passes on the main one's names is left out, one that has only types is
// named as a whole.
func otherEntries(entryPoints map[string]string) (names []string) {
	for entry, text := range entryPoints {
		short := strings.TrimPrefix(entry, "./")
		if entry == "." || strings.HasSuffix(entry, ".js") { // the same as the one without
			continue
		}
		d := &declared{text: text}
		own := slices.Concat(d.exports(), d.consts())
		for _, name := range own {
			names = append(names, short+"/"+name)
		}
		if len(own) == 0 && !strings.Contains(text, "from './sdk.js'") {
			names = append(names, short)
		}
	}
	return names
}

var exportForm = regexp.MustCompile(`(?m)^export (?:declare )?(?:function|class) (\w+)`)

// exports names the functions and classes.
func (d *declared) exports() (names []string) {
	for _, m := range exportForm.FindAllStringSubmatch(d.text, -1) {
		names = append(names, m[1])
	}
	return names
}

// union names the object types of a union, through unions in it.
func (d *declared) union(name string) (names []string) {
	for part := range strings.SplitSeq(d.body(name), "|") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "coreTypes.")
		if strings.HasPrefix(d.body(part), "{") {
			names = append(names, part)
		} else if part != "" && d.body(part) != "" {
			names = append(names, d.union(part)...)
		}
	}
	return names
}

var literalForm = regexp.MustCompile(`'([^']+)'`)

// literals returns the strings that a member of a type can be.
func (d *declared) literals(name, member string) (values []string) {
	line := regexp.MustCompile(`(?m)^    ` + member + `\??: (.*);$`).FindStringSubmatch(d.body(name))
	if line == nil {
		return nil
	}
	for _, m := range literalForm.FindAllStringSubmatch(line[1], -1) {
		values = append(values, m[1])
	}
	return values
}

// tuple returns the strings of a constant list.
func (d *declared) tuple(name string) (values []string) {
	_, rest, _ := strings.Cut(d.text, "declare const "+name+": readonly [")
	list, _, _ := strings.Cut(rest, "]")
	for _, m := range literalForm.FindAllStringSubmatch(list, -1) {
		values = append(values, m[1])
	}
	return values
}
