package control

// Effort is how hard the model works on an answer, such as "high". The set is
// open; package claude has constants for the levels that the CLI knows.
type Effort string
