"use strict";
// Several approvals of the same tool and shape are decided at once. The decision waits
// for a moment in which it can be undone. If the page is left or hidden meanwhile, nothing
// is decided, neither then nor hours later when a phone wakes; the next screen tells that.
const several = (send, flash) => {
  const form = document.getElementById("several");
  let timer = 0;
  // A note in this tab says that a decision waits. The next screen finds it there if the
  // page was left: what a page writes as it is left may come too late for that.
  const note = waits => { try { if (waits) sessionStorage.setItem("undecided", "1"); else sessionStorage.removeItem("undecided"); } catch { /* then nothing is told */ } };
  const tell = () => {
    try { if (timer || document.hidden || !sessionStorage.getItem("undecided")) return; } catch { return; }
    note(false);
    flash("Nothing was decided: you left the page before the decision was sent.");
  };
  tell();
  addEventListener("pageshow", tell);
  document.addEventListener("visibilitychange", tell);
  if (!form) return;
  const boxes = () => [...document.querySelectorAll("input[name=pick]")];
  const picked = form.querySelector(".picked"), every = document.getElementById("pick-all"), undo = document.getElementById("undo");
  const buttons = [...form.querySelectorAll("button[name=decision]")];
  function show() {
    const chosen = boxes().filter(b => b.checked), shape = chosen[0]?.dataset.shape, alike = boxes().filter(b => b.dataset.shape === shape);
    for (const b of boxes()) b.disabled = timer !== 0 || shape !== undefined && b.dataset.shape !== shape;
    form.classList.toggle("on", chosen.length > 0);
    form.hidden = chosen.length === 0;
    picked.hidden = false;
    if (!timer) picked.textContent = `${chosen.length} chosen`;
    every.hidden = timer !== 0 || alike.length <= chosen.length;
    every.textContent = `All ${alike.length} like ${chosen.length === 1 ? "this" : "these"}`;
    undo.hidden = timer === 0;
    for (const b of buttons) b.hidden = timer !== 0;
  }
  document.addEventListener("change", e => { if (e.target.name === "pick") show(); });
  new MutationObserver(show).observe(document.querySelector("[data-part=cards]"), { childList: true, subtree: true });
  every.addEventListener("click", () => {
    const shape = boxes().find(b => b.checked)?.dataset.shape;
    for (const b of boxes()) b.checked = b.dataset.shape === shape;
    show();
  });
  const stop = () => { clearTimeout(timer); timer = 0; show(); };
  const leave = () => { if (timer) stop(); };
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); });
  undo.addEventListener("click", () => { stop(); note(false); flash("Undone: nothing was decided."); });
  form.addEventListener("submit", e => {
    e.preventDefault();
    e.stopPropagation();
    if (timer) return;
    const verb = e.submitter?.value, values = boxes().filter(b => b.checked).map(b => b.value);
    if (!verb || !values.length) return;
    const data = new URLSearchParams([["decision", verb], ["sure", "1"], ["back", form.elements.back.value], ...values.map(v => ["pick", v])]);
    const moment = Number(form.dataset.moment ?? 5000), due = Date.now() + moment;
    note(true);
    timer = setTimeout(async () => {
      note(false);
      if (Date.now() - due > 30000) { // the machine slept: what was seen then may be long past
        stop();
        flash("Nothing was decided: the page was asleep. Decide again.");
        return;
      }
      for (const b of boxes()) b.checked = false;
      stop();
      await send(form, data);
    }, moment);
    show();
    picked.textContent = `${verb === "allow" ? "Allows" : "Denies"} ${values.length} in a moment…`;
    undo.focus();
  });
  show();
};
