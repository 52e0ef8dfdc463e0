package serve

import (
	"fmt"

	"github.com/claude-agent-go/claude/fleet"
)

// heldAdvice explains why the prompts of a conversation wait.
func heldAdvice(info *fleet.ConversationInfo) string {
	if !info.HeldUntil.IsZero() {
		return fmt.Sprintf("The budget of the day, $%.2f, is spent: its prompts are kept, and run after midnight UTC.", info.BudgetUSD)
	}
	if info.BudgetUSD == 0 {
		return "The limits of this conversation are not valid on the server: its prompts are kept, and run once they are."
	}
	return fmt.Sprintf("This conversation has cost $%.2f of the $%.2f that it may: its prompts are kept, and run once it may cost more.", info.Cost.USD, info.BudgetUSD)
}
