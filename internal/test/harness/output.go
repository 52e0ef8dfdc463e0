package harness

import "time"

// City is a typed answer with a bit of everything a schema can say.
type City struct {
	Name     string     `json:"name"`
	People   int        `json:"people"`
	Founded  *time.Time `json:"founded"`
	Kind     string     `json:"kind,omitempty" enum:"port,capital"`
	Quarters []Quarter  `json:"quarters"`
	Near     []City     `json:"near,omitempty"`
}

// Quarter is a part of a City.
type Quarter struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
}
