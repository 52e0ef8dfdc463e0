package fleet

import "context"

// Bus carries messages between the processes that share a store: live text, and what one
// process asks of the one that runs a conversation. It keeps nothing, and may lose
// messages: whatever must not be lost is in the store. A topic is a path of names, as
// those of keys are, and begins with its kind and the project, so that one Bus can serve
// several fleets. The methods of a Bus may be called from any goroutine.
type Bus interface {
	// Publish sends a message to the subscribers of a topic, in all processes. It must
	// not block. The fleet does not change the message afterwards.
	Publish(topic string, message []byte)
	// Subscribe calls do for each message of a topic, one call at a time, and those of one
	// process in the order in which it has published them. It returns when the
	// subscription is in force, and fails if that takes longer than ctx. stop ends it,
	// and waits for a call that runs.
	Subscribe(ctx context.Context, topic string, do func(message []byte)) (stop func(), err error)
}

// liveTopic has the live text of a conversation.
func liveTopic(project, key string) string { return "live/" + project + "/" + key }

// requestTopic has what is asked of the processes that run the conversations of a project.
func requestTopic(project string) string { return "requests/" + project }

// replyTopic has the replies to one process.
func replyTopic(project, process string) string { return "replies/" + project + "/" + process }
