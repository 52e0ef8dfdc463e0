package openapi

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// Words are the comments of a type in Go.
type Words struct {
	// About is the comment of the type.
	About string `json:"about"`
	// Members are the comments of its members, by their names in JSON.
	Members map[string]string `json:"members,omitempty"`
	// Values are the constants of the type.
	Values []Value `json:"values,omitempty"`
}

// Value is a constant with its comment.
type Value struct {
	Value string `json:"value"`
	About string `json:"about,omitempty"`
}

// words.json holds the comments of the types on the wire, which a program does not
// have when it runs. A test writes it and compares it with the source.
//
//go:embed words.json
var embedded []byte

// Dictionary returns the words of all types on the wire, by their names. It must not
// be changed.
var Dictionary = sync.OnceValues(func() (all map[string]Words, err error) {
	err = json.Unmarshal(embedded, &all)
	return all, err
})
