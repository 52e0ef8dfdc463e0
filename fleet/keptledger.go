package fleet

import (
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// keptLedger is a ledger in a record, with the members that a newer program has added
// to it and to its entries for single models.
type keptLedger struct {
	Ledger

	unknown          jsonx.Unknown
	models, unpriced map[string]jsonx.Unknown // by model, of the maps of the ledger
}

// ledgerForm is the form of a ledger in a record.
type ledgerForm struct {
	Ledger // whose maps are those below

	Models   map[string]usageForm `json:"models,omitempty"`
	Unpriced map[string]usageForm `json:"unpriced,omitempty"`
	Unknown  jsonx.Unknown        `json:",embed"`
}

// usageForm is the form of a model's usage in a record.
type usageForm struct {
	message.ModelUsage
	Unknown jsonx.Unknown `json:",embed"`
}

// MarshalJSON implements [encoding/json.Marshaler].
func (l keptLedger) MarshalJSON() ([]byte, error) {
	return jsonx.Marshal(&ledgerForm{l.Ledger, formOf(l.Ledger.Models, l.models), formOf(l.Ledger.Unpriced, l.unpriced), l.unknown})
}

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *keptLedger) UnmarshalJSON(data []byte) error {
	var form ledgerForm
	if err := jsonx.Unmarshal(data, &form); err != nil {
		return err
	}
	l.Ledger, l.unknown = form.Ledger, form.Unknown
	l.Ledger.Models, l.models = usageOf(form.Models)
	l.Ledger.Unpriced, l.unpriced = usageOf(form.Unpriced)
	return nil
}

func formOf(usage map[string]message.ModelUsage, unknown map[string]jsonx.Unknown) map[string]usageForm {
	forms := make(map[string]usageForm, len(usage))
	for model, u := range usage {
		forms[model] = usageForm{u, unknown[model]}
	}
	return forms
}

func usageOf(forms map[string]usageForm) (usage map[string]message.ModelUsage, unknown map[string]jsonx.Unknown) {
	if forms == nil {
		return nil, nil
	}
	usage = make(map[string]message.ModelUsage, len(forms))
	for model, f := range forms {
		usage[model] = f.ModelUsage
		if f.Unknown == nil {
			continue
		}
		if unknown == nil {
			unknown = make(map[string]jsonx.Unknown)
		}
		unknown[model] = f.Unknown
	}
	return usage, unknown
}

func (l keptLedger) plus(more Ledger) keptLedger {
	l.Ledger = l.Ledger.plus(more)
	return l
}

func (l keptLedger) priced(said map[string]message.ModelUsage) keptLedger {
	l.Ledger = l.Ledger.priced(said)
	return l
}
