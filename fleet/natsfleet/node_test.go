package natsfleet_test

type nodeRole struct{}

func serveNode(nodeRole) int { return 0 }
